"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const LEVEL = 0.95;
const QUANTILE = 1.959963984540054; // of the normal law, for LEVEL
const MOST_ROWS = 1000;
const MOST_BARS = 60;
const format = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven",
});
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const percent = new Intl.NumberFormat("en-US", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const sizes = data.attributes.map((attribute) => attribute.labels.length);
/** The attributes without their levels, which follow them in the list. */
const attributes = data.attributes.filter((attribute) => attribute.level_of === null);
/** The attribute that an axis is, or is a level of. */
const attributeOf = (axis) => data.attributes[axis].level_of ?? axis;
const decoded = new Map();

/** Little-endian doubles in base 64. */
function doubles(text) {
  if (!decoded.has(text)) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    decoded.set(text, Float64Array.from({ length: bytes.length / 8 }, (_, place) => view.getFloat64(8 * place, true)));
  }
  return decoded.get(text);
}

const product = (numbers) => numbers.reduce((all, one) => all * one, 1);
const key = (axes) => [...axes].sort((a, b) => a - b).join(",");

/** Sum a table over the axes that are not asked for; the result has its axes in the asked order. */
function project(counts, axes, asked) {
  const strides = new Array(axes.length).fill(0);
  let stride = 1;
  for (const axis of [...asked].reverse()) {
    if (axes.includes(axis)) strides[axes.indexOf(axis)] = stride;
    stride *= sizes[axis];
  }
  const result = new Float64Array(stride);
  const position = new Array(axes.length).fill(0);
  let target = 0;
  for (const count of counts) {
    result[target] += count;
    for (let place = axes.length - 1; place >= 0; place -= 1) {
      position[place] += 1;
      target += strides[place];
      if (position[place] < sizes[axes[place]]) break;
      target -= strides[place] * sizes[axes[place]];
      position[place] = 0;
    }
  }
  return result;
}

/** The variance of each cell of a marginal of a view: see `Tables.covered_variances` in the Python source. */
function coveredVariance(view, asked) {
  const precision = doubles(view.precision);
  const places = asked.map((axis) => view.axes.indexOf(axis));
  let sum = 0;
  for (let part = 0; part < 1 << asked.length; part += 1) {
    const functions = product(asked.map((axis, place) => (part >> place & 1 ? sizes[axis] - 1 : 1)));
    const mask = places.reduce((all, own, place) => (part >> place & 1 ? all | 1 << own : all), 0);
    if (functions) sum += functions / precision[mask];
  }
  return sum / product(asked.map((axis) => sizes[axis])) ** 2;
}

/** Half the width of the interval of each cell of a marginal of a view: see `Tables.concentration` and `half_widths`. */
function halfWidthOf(variance, asked) {
  const cells = product(asked.map((axis) => sizes[axis]));
  let concentration = 0;
  for (const table of data.measured) {
    if (asked.every((axis) => table.axes.includes(axis))) {
      const summed = product(table.axes.map((axis) => sizes[axis])) / cells;
      concentration += variance ** 2 / (summed ** 3 * table.variance ** 2);
    }
  }
  const normal = QUANTILE * Math.sqrt(variance);
  if (concentration === 0) return normal;
  const rate = 2 * Math.asinh(Math.sqrt(1 / (2 * variance)));
  const single = Math.log(2 / ((1 - LEVEL) * (1 + Math.exp(-rate)))) / rate;
  const kurtosis = Math.min(3 * Math.min(concentration, 1) + 1 / variance, 3);
  const share = 8 * kurtosis / (15 + 3 * kurtosis);
  return share * single + (1 - share) * (normal + Math.min(normal, 0.5));
}

/** A marginal of a view. A sum of cells that must be zero is zero, without noise. */
function covered(view, asked) {
  const counts = project(doubles(view.counts), view.axes, asked);
  const halfWidths = new Float64Array(counts.length).fill(halfWidthOf(coveredVariance(view, asked), asked));
  if (view.empty.length) {
    const possible = new Float64Array(product(view.axes.map((axis) => sizes[axis]))).fill(1);
    view.empty.forEach((cell) => { possible[cell] = 0; });
    project(possible, view.axes, asked).forEach((some, cell) => {
      if (some === 0) { counts[cell] = 0; halfWidths[cell] = 0; }
    });
  }
  return { counts, halfWidths, source: halfWidths.some((one) => one !== 0) ? "measured" : "known" };
}

function fromAnswer(answer, asked) {
  return {
    counts: project(doubles(answer.counts), answer.axes, asked),
    halfWidths: project(doubles(answer.half_widths), answer.axes, asked),
    source: answer.source,
  };
}

const answers = new Map(data.answers.map((answer) => [key(answer.axes), answer]));

const cellsOf = (view) => product(view.axes.map((axis) => sizes[axis]));

/** The smallest measured view that holds the asked axes; null if none does. */
function coveringView(asked) {
  return data.views
    .filter((view) => view.counts && asked.every((axis) => view.axes.includes(axis)))
    .reduce((best, view) => (best === null || cellsOf(view) < cellsOf(best) ? view : best), null);
}

/** Whether this page alone can answer a marginal. */
const answerable = (asked) => coveringView(asked) !== null || answers.has(key(asked));

/** The marginal on some axes, and its source; null if neither the page nor a server has it. */
async function marginal(asked) {
  const covering = coveringView(asked);
  if (covering) return covered(covering, asked);
  const known = answers.get(key(asked));
  if (known) return fromAnswer(known, asked);
  if (!data.live) return null;
  const query = new URLSearchParams(asked.map((axis) => ["attribute", data.attributes[axis].name]));
  const reply = await fetch(`/marginal?${query}`);
  const answer = await reply.json();
  if (!reply.ok) return { error: answer.error };
  return fromAnswer(answer, asked);
}

/** One record per cell, in the order of the table. */
function records(asked, answer) {
  return Array.from(answer.counts, (count, cell) => {
    const labels = new Array(asked.length);
    let rest = cell;
    for (let place = asked.length - 1; place >= 0; place -= 1) {
      labels[place] = data.attributes[asked[place]].labels[rest % sizes[asked[place]]];
      rest = Math.floor(rest / sizes[asked[place]]);
    }
    const half = answer.halfWidths[cell];
    return { labels, count, low: Math.max(count - half, 0), high: Math.max(count + half, 0), known: half === 0 };
  });
}

let selected = [];
let shown = null;
let sorted = { column: null, descending: true };
let boxes = [];
let turn = 0;

async function show() {
  const mine = ++turn;
  const asked = [...selected];
  element("asked").textContent = asked.length
    ? asked.map((axis) => data.attributes[axis].name).join(" × ") : "No attribute chosen";
  const answer = asked.length ? await marginal(asked) : null;
  if (mine !== turn) return;
  const failed = answer === null || answer.error !== undefined;
  shown = failed ? null : { asked, rows: records(asked, answer) };
  element("download").hidden = failed;
  sorted = { column: null, descending: true };
  offer();
  element("status").textContent = !asked.length
    ? `Choose up to ${data.most} attributes to see how many rows there are of each kind.`
    : answer === null
      ? "This page does not hold the counts of this combination. Choose fewer attributes."
      : answer.error ?? data.sources[answer.source];
  table();
  await chart();
}

/** The choice after an axis is added. A level takes the place of another level of its attribute. */
function added(axis) {
  const place = selected.findIndex((other) => attributeOf(other) === attributeOf(axis));
  return place < 0 ? [...selected, axis] : selected.map((other, own) => (own === place ? axis : other));
}

/** Grey out the attributes that cannot be added, and say why. */
function offer() {
  let grey = 0;
  boxes.forEach((box, axis) => {
    box.checked = selected.includes(axis);
    const next = added(axis);
    const full = !box.checked && next.length > data.most;
    const unknown = !box.checked && !data.live && !answerable(next);
    box.disabled = full || unknown;
    box.parentElement.title = full
      ? `At most ${data.most} attributes can be chosen.`
      : unknown ? "This page does not hold these attributes together." : "";
    if (unknown && !full) grey += 1;
  });
  element("grey").hidden = grey === 0;
  element("ask").hidden = !("Contact" in data.imprint);
}

function cell(kind, text, style) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (style) made.className = style;
  if (kind === "th") made.scope = "col";
  return made;
}

/** A head with a button that sorts by its column: the largest first, the smallest first, as declared. */
function sortHead(name, style) {
  const head = cell("th", "", style);
  const button = document.createElement("button");
  const active = sorted.column === name;
  button.type = "button";
  button.className = "sort";
  button.textContent = `${name}${active ? (sorted.descending ? " ↓" : " ↑") : ""}`;
  button.title = `sort by ${name}`;
  // Print shows this text in place of the button.
  head.dataset.head = button.textContent;
  if (active) head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
  button.addEventListener("click", () => {
    if (!active) sorted = { column: name, descending: true };
    else if (sorted.descending) sorted = { column: name, descending: false };
    else sorted = { column: null, descending: true };
    table();
    [...element("table").tHead.querySelectorAll("button")].find((other) => other.title === button.title).focus();
  });
  head.append(button);
  return head;
}

/** What counts lack if only some rows of a person were counted. */
function leftOut() {
  const { unit, rows } = data.statement;
  if (unit === null) return "";
  const most = `${rows} row${rows === 1 ? "" : "s"}`;
  return ` At most ${most} with the same “${unit}” were counted. So counts and totals may be too low, and the bounds do not allow for this.`;
}

/** What bounds of zero do not say, if there are any that come from noise. */
function nobody(rows) {
  if (!rows.some((row) => row.high < 1 && !row.known)) return "";
  return " A high bound below 1 does not prove that nobody is there: these bounds, too, miss about one true number in twenty.";
}

const FIELDS = ["count", "low", "high"];

function table() {
  const head = element("table").tHead;
  const body = element("table").tBodies[0];
  head.replaceChildren();
  body.replaceChildren();
  element("caption").textContent = "";
  element("more").textContent = "";
  element("total").textContent = "";
  if (!shown) return;
  const names = shown.asked.map((axis) => data.attributes[axis].name);
  element("caption").textContent = `${countsBy(names)}, with bounds of 95 %`;
  const title = head.insertRow();
  shown.asked.forEach((axis) => title.append(cell("th", data.attributes[axis].name)));
  FIELDS.forEach((name) => title.append(sortHead(name, name === "count" ? "number" : "number bound")));
  title.append(cell("th", "share", "share"));
  const rows = [...shown.rows];
  if (sorted.column) {
    const field = sorted.column;
    rows.sort((one, other) => (sorted.descending ? other[field] - one[field] : one[field] - other[field]));
  }
  const total = shown.rows.reduce((sum, row) => sum + row.count, 0);
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    row.labels.forEach((label) => line.append(cell("td", label)));
    const bounds = [row.low, row.high].map((bound) => (Number.isNaN(bound) ? "–" : format.format(bound)));
    const count = cell("td", format.format(row.count), "number");
    // A narrow screen has the bounds and the share below the count; see the style sheet.
    const share = total > 0 ? percent.format(row.count / total) : "–";
    count.dataset.bounds = `${bounds[0]} to ${bounds[1]}`;
    count.dataset.share = share;
    line.append(count);
    bounds.forEach((bound) => line.append(cell("td", bound, "number bound")));
    line.append(cell("td", share, "share"));
  }
  element("total").textContent = `The counts of this table add up to ${format.format(total)}.${leftOut()}${nobody(shown.rows)}`;
  if (rows.length > MOST_ROWS) {
    element("more").textContent = `The table shows the first ${whole.format(MOST_ROWS)} of ${whole.format(rows.length)} cells; the download has all of them.`;
  }
}

/** A colour of the page, which follows the screen, light or dark, or the paper. */
const colour = (name) => `var(--${name})`;

function style() {
  const text = { labelColor: colour("ink"), titleColor: colour("ink") };
  return {
    font: "system-ui, sans-serif", background: null, view: { stroke: null }, legend: text,
    header: { ...text, labelFontSize: 12, labelFontWeight: "bold" },
    axis: { ...text, labelSeparation: 8, labelFontSize: 12, titleFontSize: 12, labelLimit: 0, gridColor: colour("line"), domainColor: colour("line"), tickColor: colour("line") },
  };
}

const BOUNDS = [{ field: "count", format: ",.1f" }, { field: "low", format: ",.1f" }, { field: "high", format: ",.1f" }];

/** A bar for each count, with its interval. Vega gives dots and brackets in field names a meaning, so the fields have fixed names. */
function barLayers({ y, below }, bounds) {
  const bar = below ? { height: 14, yOffset: below } : {};
  const axis = { tickCount: Math.max(2, Math.round(element("chart").clientWidth / 110)) };
  const layers = [{
    mark: { type: "bar", color: colour("bar"), ...bar },
    encoding: { y, x: { field: "count", type: "quantitative", title: "count", axis } },
  }];
  if (bounds) {
    layers.push({
      mark: { type: "rule", color: colour("ink"), strokeWidth: 1.5, yOffset: below },
      encoding: { y, x: { field: "low", type: "quantitative" }, x2: { field: "high" } },
    });
  }
  return layers;
}

/** Texts of at most `most` letters that stay different: the middle of a long one is left out. */
function shortened(texts, most) {
  const half = Math.floor(most / 2);
  const cut = texts.map((text) => (text.length > most ? `${text.slice(0, half)}…${text.slice(-half)}` : text));
  return cut.map((text, place) => {
    const before = cut.slice(0, place).filter((other) => other === text).length;
    return before ? `${text} (${before + 1})` : text;
  });
}

const lettersIn = (width) => Math.max(16, Math.floor(width / 18));

/** Where the labels of bars stand: beside them or, if one were cut there, above them, over the whole width. */
function placed(labels, width) {
  const y = { field: "name", type: "nominal", sort: null, title: null };
  if (labels.every((label) => label.length <= lettersIn(width))) return { y, step: 20, below: 0, short: labels };
  const axis = { labelAlign: "left", labelPadding: -3, labelOffset: -9, ticks: false, domain: false, zindex: 1 };
  return { y: { ...y, axis }, step: 36, below: 8, short: shortened(labels, Math.floor(width / 7.5)) };
}

function bars(rows, title, width) {
  const names = rows.map((row) => row.labels.join(" · "));
  const placing = placed(names, width);
  const { short, step } = placing;
  const values = rows.map((row, place) => ({
    name: short[place], full: names[place], count: row.count, low: row.low, high: row.high,
  }));
  const layer = barLayers(placing, values.every((value) => Number.isFinite(value.low)));
  return {
    width: "container", height: { step }, data: { values }, layer,
    encoding: { tooltip: [{ field: "full", title }, ...BOUNDS] },
  };
}

/** The counts of many ordered categories in their order: a line, and a band for the intervals. */
function line(rows, title) {
  const values = rows.map((row, place) => ({
    place, name: row.labels[0], count: row.count, low: row.low, high: row.high,
  }));
  const x = { field: "name", type: "ordinal", sort: null, title, axis: { labelOverlap: "greedy", labelAngle: 0 } };
  const layer = [{ mark: { type: "line", color: colour("ink"), strokeWidth: 1.5 }, encoding: { x, y: { field: "count", type: "quantitative", title: "count" } } }];
  if (values.every((value) => Number.isFinite(value.low))) {
    layer.unshift({ mark: { type: "area", color: colour("bar"), opacity: 0.6 }, encoding: { x, y: { field: "low", type: "quantitative", title: "count" }, y2: { field: "high" } } });
  }
  return {
    width: "container", height: 260, data: { values }, layer,
    encoding: { tooltip: [{ field: "name", title }, ...BOUNDS] },
  };
}

/** Bars in a panel for each combination of all attributes but the last, whose labels are then written once a panel. */
function panels(rows, names, labels, width) {
  const placing = placed(labels, width);
  const short = new Map(labels.map((label, place) => [label, placing.short[place]]));
  const values = rows.map((row) => ({
    group: row.labels.slice(0, -1).join(" · "), name: short.get(row.labels.at(-1)), count: row.count, low: row.low, high: row.high,
  }));
  const title = names.slice(0, -1).join(" · ");
  const header = { title: null, labelAngle: 0, labelAlign: "left", labelAnchor: "start", labelOrient: "top", labelPadding: 3 };
  return {
    data: { values }, spacing: 6,
    facet: { row: { field: "group", type: "nominal", sort: null, header } },
    spec: {
      width: Math.max(120, placing.below ? width - 30 : width - 150), height: { step: placing.step },
      layer: barLayers(placing, values.every((value) => Number.isFinite(value.low))),
      encoding: { tooltip: [{ field: "group", title }, { field: "name", title: names.at(-1) }, ...BOUNDS] },
    },
  };
}

/** A map of colours. A small one has each count with its bounds, if the screen has room for them. */
function heat(rows, titles, labels, width) {
  // The middle of long labels is left out.
  const [ones, twos] = labels.map((own) => {
    const short = shortened(own, lettersIn(width));
    return new Map(own.map((label, place) => [label, short[place]]));
  });
  const values = rows.map((row) => ({
    one: ones.get(row.labels[0]), two: twos.get(row.labels[1]), count: row.count, low: row.low, high: row.high,
    text: whole.format(row.count), bounds: Number.isNaN(row.low) ? "" : `${whole.format(row.low)} to ${whole.format(row.high)}`,
  }));
  const longest = (texts) => Math.max(...texts.map((text) => text.length));
  const beside = 6 * longest([...ones.values()]);
  const wanted = twos.size * (5 * longest(values.map((value) => value.bounds)) + 4);
  const small = values.length <= 60 && wanted <= width - beside;
  const most = Math.max(...values.map((value) => value.count));
  const position = {
    x: { field: "two", type: "nominal", sort: null, title: null, axis: { labelAngle: -40 } },
    y: { field: "one", type: "nominal", sort: null, title: null },
  };
  const layers = [{
    mark: "rect",
    encoding: { color: { field: "count", type: "quantitative", scale: { scheme: "viridis", reverse: true }, title: "count", legend: { orient: "bottom" } } },
  }];
  if (small) {
    const ink = { condition: { test: `datum.count > ${most / 2}`, value: "white" }, value: "#1b1f24" };
    layers.push({ mark: { type: "text", fontSize: 11, dy: -6 }, encoding: { text: { field: "text" }, color: ink } });
    layers.push({ mark: { type: "text", fontSize: 9, dy: 7 }, encoding: { text: { field: "bounds" }, color: ink } });
  }
  const text = `${titles[0]} (down) by ${titles[1]} (across)`;
  return {
    title: { text, anchor: "start", fontSize: 12, color: colour("ink") },
    width: "container", height: { step: small ? 34 : 24 }, data: { values }, layer: layers,
    encoding: { ...position, tooltip: [{ field: "one", title: titles[0] }, { field: "two", title: titles[1] }, ...BOUNDS] },
  };
}

/** What a table or a chart shows, in words. */
const countsBy = (names) => `Counts by ${new Intl.ListFormat("en").format(names)}`;

async function draw(place, spec, description) {
  place.replaceChildren();
  const parsed = vega.parse(vegaLite.compile({ ...spec, description, ...(spec.facet ? {} : { autosize: { type: "fit-x", contains: "padding" } }), config: style() }).spec);
  const view = new vega.View(parsed, { renderer: "svg", container: place, hover: true });
  view.tooltip((handler, event, item, value) => { place.title = value ? Object.entries(value).map(([name, text]) => `${name}: ${text}`).join("\n") : ""; });
  await view.runAsync();
}

async function chart() {
  const place = element("chart");
  if (!shown) { place.replaceChildren(); return; }
  const names = shown.asked.map((axis) => data.attributes[axis].name);
  const [first, second] = shown.asked.map((axis) => sizes[axis]);
  if (shown.asked.length === 2 && first > 2 && second > 2 && second <= 60) {
    const labels = shown.asked.map((axis) => data.attributes[axis].labels);
    await draw(place, heat(shown.rows, names, labels, place.clientWidth), countsBy(names));
    return;
  }
  if (shown.asked.length > 1 && shown.rows.length <= MOST_BARS) {
    const labels = data.attributes[shown.asked.at(-1)].labels;
    await draw(place, panels(shown.rows, names, labels, place.clientWidth), countsBy(names));
    return;
  }
  const rows = [...shown.rows];
  if (shown.asked.length === 1 && rows.length > MOST_BARS && data.attributes[shown.asked[0]].ordered) {
    await draw(place, line(rows, names[0]), countsBy(names));
    return;
  }
  if (rows.length > MOST_BARS) {
    rows.sort((one, other) => other.count - one.count);
    rows.length = MOST_BARS;
    element("more").textContent += ` The chart shows the ${MOST_BARS} largest counts.`;
  }
  await draw(place, bars(rows, names.join(" · "), place.clientWidth), countsBy(names));
}

function quoted(text) {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hand a CSV file to the reader. */
function save(lines, name) {
  const text = `${lines.map((line) => line.join(",")).join("\n")}\n`;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `${name.replace(/[^\p{L}\p{N}-]+/gu, "_")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A thousandth of a row is far below the noise. */
const rounded = (number) => (Number.isNaN(number) ? "" : Math.round(1000 * number) / 1000);
const numbers = (row) => FIELDS.map((name) => rounded(row[name]));

function download() {
  const names = shown.asked.map((axis) => data.attributes[axis].name);
  const lines = shown.rows.map((row) => [...row.labels.map(quoted), ...numbers(row)]);
  save([[...names.map(quoted), ...FIELDS], ...lines], names.join("-"));
}

/** All tables of the page in one file: a column for each attribute, empty where a table does not have it. */
function downloadAll() {
  const lines = [["table", "source", ...data.attributes.map((attribute) => quoted(attribute.name)), ...FIELDS]];
  const views = data.views.filter((view) => view.counts).map((view) => [view.axes, covered(view, view.axes)]);
  const others = data.answers.map((answer) => [answer.axes, fromAnswer(answer, answer.axes)]);
  [...views, ...others].forEach(([axes, answer]) => {
    const name = quoted(axes.map((axis) => data.attributes[axis].name).join(" by "));
    for (const row of records(axes, answer)) {
      const labels = new Array(data.attributes.length).fill("");
      axes.forEach((axis, place) => { labels[axis] = quoted(row.labels[place]); });
      lines.push([name, answer.source, ...labels, ...numbers(row)]);
    }
  });
  save(lines, `${data.title}-all`);
}

function picker() {
  const fields = element("attributes");
  boxes = data.attributes.map((attribute, axis) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.addEventListener("change", () => {
      selected = box.checked ? added(axis) : selected.filter((other) => other !== axis);
      show();
    });
    const size = document.createElement("span");
    size.className = "size";
    size.textContent = attribute.labels.length === 1 ? "1 category" : `${attribute.labels.length} categories`;
    if (data.not_measured.includes(data.attributes[attributeOf(axis)].name)) size.textContent = "not measured";
    label.append(box, attribute.name, size);
    if (attribute.level_of !== null) label.className = "level";
    return box;
  });
  // The levels of an attribute stand below it.
  const order = boxes.map((_, axis) => axis).sort((one, other) => attributeOf(one) - attributeOf(other));
  order.forEach((axis) => fields.append(boxes[axis].parentElement));
  element("levels").hidden = attributes.length === data.attributes.length;
  // Show one attribute at the start.
  boxes[0].checked = true;
  selected = [0];
  element("search").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    boxes.forEach((box, axis) => {
      box.parentElement.hidden = !data.attributes[axis].name.toLowerCase().includes(wanted);
      box.parentElement.style.display = box.parentElement.hidden ? "none" : "";
    });
  });
  element("clear").addEventListener("click", () => {
    selected = [];
    show();
  });
}

/** Some names in a sentence; of many, the first ones. */
function listed(names) {
  const few = names.length > 8 ? [...names.slice(0, 7), `${names.length - 7} more attributes`] : names;
  return new Intl.ListFormat("en").format(few);
}

function facts() {
  const names = attributes.map((attribute) => attribute.name);
  const list = listed(names);
  // The description may end without a full stop.
  const stop = /[.!?]["')]?$/.test(data.description) ? " " : ". ";
  element("facts").textContent = `${data.description ? `${data.description}${stop}` : ""}${data.views.length || data.answers.length || data.live ? "Numbers of rows by" : "A release about"} ${list}. `
    + "Random noise was added for privacy, as told below.";
  element("mechanism").textContent = data.mechanism;
  element("simulation").hidden = data.private;
  element("guarantee").textContent = data.guarantee;
  element("domain").textContent = data.statement.domain;
  element("version").textContent = data.version;
  for (const [title, text] of Object.entries(data.imprint)) {
    const line = document.createElement("dd");
    line.textContent = text;
    element("imprint").append(cell("dt", title), line);
  }
  data.words.forEach((words) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = words;
    element("words").append(paragraph);
  });
}

/** A line of text for each part of a release without views. */
function summary() {
  const tables = data.views.length || data.answers.length || data.live;
  element("summary-section").hidden = Boolean(data.views.length);
  element("explorer").hidden = !tables;
  element("elsewhere").hidden = Boolean(tables);
  for (const [title, text] of Object.entries(data.summary)) {
    const term = document.createElement("dt");
    term.textContent = title;
    const line = document.createElement("dd");
    line.textContent = text;
    element("summary").append(term, line);
  }
}

async function pictures() {
  element("views-section").hidden = !data.views.length;
  element("errors-section").hidden = !data.errors.length;
  if (data.views.length) {
    const shares = data.views.map((view) => view.share);
    const shared = shares.every((share) => share !== null);
    const equal = shared && Math.max(...shares) - Math.min(...shares) < 1e-6;
    const single = data.views.length === 1;
    const own = data.views[0].axes.length;
    const of = own === attributes.length ? `all ${own} attributes` : `${own} attribute${own === 1 ? "" : "s"}`;
    const measured = `${single ? `One table of ${of} was counted` : `${data.views.length} tables of a few attributes each were counted`}, and noise was added to every cell.`;
    element("views-chart").hidden = single;
    element("views-text").textContent = !shared
      ? `Numbers were measured with noise, and ${single ? `one table of ${of} was` : `these ${data.views.length} tables of a few attributes each were`} computed from them.`
      : single ? measured : equal ? `${measured} Each got the same share of the budget.`
        : `${measured} The colour shows each table's share of the budget: a larger share means less noise.`;
    if (data.not_measured.length) {
      element("views-text").textContent += ` Not measured: ${listed(data.not_measured)}. The categories of what was not measured are taken to be equally frequent.`;
    }
    const values = data.views.flatMap((view, place) => view.axes.map((axis) => ({
      table: place + 1, attribute: data.attributes[axis].name, share: view.share,
    })));
    if (!single) await draw(element("views-chart"), {
      width: "container", height: { step: 13 }, data: { values }, mark: { type: "rect", stroke: colour("paper") },
      encoding: {
        x: { field: "table", type: "ordinal", title: "measured table", axis: { labelOverlap: true, labelAngle: 0 } },
        y: { field: "attribute", type: "nominal", sort: data.attributes.map((attribute) => attribute.name), title: null },
        color: shared && !equal
          ? { field: "share", type: "quantitative", title: "share of the budget", scale: { scheme: "blues", domain: [0, Math.max(...values.map((value) => value.share))] }, legend: { format: ".1%", orient: "bottom" } }
          : { value: colour("bar") },
        tooltip: [{ field: "table" }, { field: "attribute" }, ...(shared ? [{ field: "share", format: ".2%" }] : [])],
      },
    }, "The attributes of each measured table");
  }
}

/** How far a count is typically off, in a line for each number of attributes. */
function typical() {
  for (const { size, error } of data.errors) {
    const line = document.createElement("li");
    const off = error < 10 ? format.format(error) : whole.format(error);
    line.textContent = `A count in a table of ${size} attribute${size === 1 ? "" : "s"} is typically off by ± ${off} rows.`;
    element("errors").append(line);
  }
}

facts();
summary();
typical();
picker();
element("download").addEventListener("click", download);
element("download-all").hidden = !data.views.some((view) => view.counts) && !data.answers.length;
element("download-all").addEventListener("click", downloadAll);
show();
pictures();
