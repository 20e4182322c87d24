"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const QUANTILE = 1.959963984540054; // of the normal law, for 95 %
const MOST_ROWS = 1000;
const MOST_BARS = 60;
const format = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven",
});
const sizes = data.attributes.map((attribute) => attribute.labels.length);
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

/** A marginal of a view. A sum of cells that must be zero is zero, without noise. */
function covered(view, asked) {
  const counts = project(doubles(view.counts), view.axes, asked);
  const variance = new Float64Array(counts.length).fill(coveredVariance(view, asked));
  if (view.empty.length) {
    const possible = new Float64Array(product(view.axes.map((axis) => sizes[axis]))).fill(1);
    view.empty.forEach((cell) => { possible[cell] = 0; });
    project(possible, view.axes, asked).forEach((some, cell) => {
      if (some === 0) { counts[cell] = 0; variance[cell] = 0; }
    });
  }
  return { counts, variance, source: "covered" };
}

function fromAnswer(answer, asked) {
  return {
    counts: project(doubles(answer.counts), answer.axes, asked),
    variance: project(doubles(answer.variance), answer.axes, asked),
  };
}

const answers = new Map(data.answers.map((answer) => [key(answer.axes), answer]));

/** The marginal on some axes, and its source; null if neither the page nor a server has it. */
async function marginal(asked) {
  const cellsOf = (view) => product(view.axes.map((axis) => sizes[axis]));
  const covering = data.views
    .filter((view) => view.counts && asked.every((axis) => view.axes.includes(axis)))
    .reduce((best, view) => (best === null || cellsOf(view) < cellsOf(best) ? view : best), null);
  if (covering) return covered(covering, asked);
  const known = answers.get(key(asked));
  if (known) return { ...fromAnswer(known, asked), source: data.views.length ? "reconstructed" : "answered" };
  if (!data.live) return null;
  const query = new URLSearchParams(asked.map((axis) => ["attribute", data.attributes[axis].name]));
  const reply = await fetch(`/marginal?${query}`);
  const answer = await reply.json();
  if (!reply.ok) return { error: answer.error };
  return { ...fromAnswer(answer, asked), source: data.views.length ? "reconstructed" : "answered" };
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
    const half = QUANTILE * Math.sqrt(answer.variance[cell]);
    return { labels, count, low: Math.max(count - half, 0), high: Math.max(count + half, 0) };
  });
}

const SOURCES = {
  covered: "Measured: a published view holds these attributes together. With 95 % probability, the true count lies between the bounds.",
  reconstructed: "Reconstructed: no published view holds these attributes together. The bounds allow for noise, and for what smaller tables do not say. The second part is an estimate: on average over many tables, 95 % of the counts lie between the bounds.",
  answered: "An answer of this release. The bounds, if known, show the part of the error that comes from noise.",
};

let selected = [];
let shown = null;
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
  element("status").textContent = !asked.length
    ? `Choose up to ${data.most} attributes to see how many people there are of each kind.`
    : answer === null
      ? "This page does not hold the counts of this combination. Choose fewer attributes, or open the release with: margin explore"
      : answer.error ?? SOURCES[answer.source];
  table();
  await chart();
}

function cell(kind, text, isNumber) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (isNumber) made.className = "number";
  if (kind === "th") made.scope = "col";
  return made;
}

function table() {
  const head = element("table").tHead;
  const body = element("table").tBodies[0];
  head.replaceChildren();
  body.replaceChildren();
  element("more").textContent = "";
  if (!shown) return;
  const title = head.insertRow();
  shown.asked.forEach((axis) => title.append(cell("th", data.attributes[axis].name)));
  ["count", "from", "to"].forEach((name) => title.append(cell("th", name, true)));
  for (const row of shown.rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    row.labels.forEach((label) => line.append(cell("td", label)));
    line.append(cell("td", format.format(row.count), true));
    [row.low, row.high].forEach((bound) => line.append(cell("td", Number.isNaN(bound) ? "–" : format.format(bound), true)));
  }
  if (shown.rows.length > MOST_ROWS) {
    element("more").textContent = `The table shows the first ${MOST_ROWS} of ${shown.rows.length} rows; the download has all rows.`;
  }
}

const STYLE = {
  font: "system-ui, sans-serif", view: { stroke: null },
  axis: { labelFontSize: 12, titleFontSize: 12, labelLimit: 220, gridColor: "#e6eaee" },
};

/** Vega gives dots and brackets in field names a meaning, so the fields have fixed names. */
function bars(rows, title) {
  const values = rows.map((row, place) => ({ place, name: row.labels.join(" · "), count: row.count, low: row.low, high: row.high }));
  const y = { field: "name", type: "nominal", sort: null, title };
  const bounds = values.every((value) => Number.isFinite(value.low));
  const layers = [{
    mark: { type: "bar", color: "#56a0d3" },
    encoding: { y, x: { field: "count", type: "quantitative", title: "count" } },
  }];
  if (bounds) {
    layers.push({
      mark: { type: "rule", color: "#1b1f24", strokeWidth: 1.5 },
      encoding: { y, x: { field: "low", type: "quantitative" }, x2: { field: "high" } },
    });
  }
  return {
    width: "container", height: { step: 20 }, data: { values }, layer: layers,
    encoding: { tooltip: [{ field: "name", title }, { field: "count", format: ",.1f" }, { field: "low", format: ",.1f" }, { field: "high", format: ",.1f" }] },
  };
}

function heat(rows, titles) {
  const values = rows.map((row) => ({ one: row.labels[0], two: row.labels[1], count: row.count, low: row.low, high: row.high }));
  const small = values.length <= 150;
  const most = Math.max(...values.map((value) => value.count));
  const position = {
    x: { field: "two", type: "nominal", sort: null, title: titles[1], axis: { labelAngle: -40 } },
    y: { field: "one", type: "nominal", sort: null, title: titles[0] },
  };
  const layers = [{
    mark: "rect",
    encoding: { color: { field: "count", type: "quantitative", scale: { scheme: "viridis", reverse: true }, title: "count", legend: { orient: "bottom" } } },
  }];
  if (small) {
    layers.push({
      mark: { type: "text", fontSize: 11 },
      encoding: {
        text: { field: "count", type: "quantitative", format: ",.0f" },
        color: { condition: { test: `datum.count > ${most / 2}`, value: "white" }, value: "#1b1f24" },
      },
    });
  }
  return {
    width: "container", height: { step: 24 }, data: { values }, layer: layers,
    encoding: { ...position, tooltip: [{ field: "one", title: titles[0] }, { field: "two", title: titles[1] }, { field: "count", format: ",.1f" }, { field: "low", format: ",.1f" }, { field: "high", format: ",.1f" }] },
  };
}

async function draw(place, spec) {
  place.replaceChildren();
  const parsed = vega.parse(vegaLite.compile({ ...spec, autosize: { type: "fit-x", contains: "padding" }, config: STYLE }).spec);
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
    await draw(place, heat(shown.rows, names));
    return;
  }
  const rows = [...shown.rows];
  if (rows.length > MOST_BARS) {
    rows.sort((one, other) => other.count - one.count);
    rows.length = MOST_BARS;
    element("more").textContent += ` The chart shows the ${MOST_BARS} largest counts.`;
  }
  await draw(place, bars(rows, names.join(" · ")));
}

function quoted(text) {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download() {
  const names = shown.asked.map((axis) => data.attributes[axis].name);
  const lines = [[...names, "count", "low_95", "high_95"].map(quoted).join(",")];
  for (const row of shown.rows) {
    lines.push([...row.labels.map(quoted), row.count, Number.isNaN(row.low) ? "" : row.low, Number.isNaN(row.high) ? "" : row.high].join(","));
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  link.download = `${names.join("-").replace(/[^\p{L}\p{N}-]+/gu, "_")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function picker() {
  const fields = element("attributes");
  const boxes = data.attributes.map((attribute, axis) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.addEventListener("change", () => {
      selected = box.checked ? [...selected, axis] : selected.filter((other) => other !== axis);
      boxes.forEach((other) => { other.disabled = !other.checked && selected.length >= data.most; });
      show();
    });
    const size = document.createElement("span");
    size.className = "size";
    size.textContent = `${attribute.labels.length} kinds`;
    label.append(box, attribute.name, size);
    fields.append(label);
    return box;
  });
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
    boxes.forEach((box) => { box.checked = false; box.disabled = false; });
    show();
  });
}

function facts() {
  const count = data.attributes.length;
  element("facts").textContent = `${count} attribute${count === 1 ? "" : "s"}, published with the mechanism ${data.mechanism}.`;
  element("simulation").hidden = data.private;
  element("guarantee").textContent = data.guarantee;
  element("domain").textContent = data.statement.domain;
  element("version").textContent = data.version;
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
    const shared = data.views.every((view) => view.share !== null);
    element("views-text").textContent = shared
      ? `${data.views.length} tables of a few attributes each were counted, and noise was added to every cell. Darker tables got a larger share of the budget and have less noise.`
      : `Numbers were measured with noise, and these ${data.views.length} tables of a few attributes each were computed from them.`;
    const values = data.views.flatMap((view, place) => view.axes.map((axis) => ({
      view: place + 1, attribute: data.attributes[axis].name, share: view.share,
    })));
    await draw(element("views-chart"), {
      width: "container", height: { step: 13 }, data: { values }, mark: { type: "rect", stroke: "white" },
      encoding: {
        x: { field: "view", type: "ordinal", title: "view", axis: { labelOverlap: true, labelAngle: 0 } },
        y: { field: "attribute", type: "nominal", sort: data.attributes.map((attribute) => attribute.name), title: null },
        color: shared
          ? { field: "share", type: "quantitative", title: "share of the budget", scale: { scheme: "blues", domain: [0, Math.max(...values.map((value) => value.share))] }, legend: { format: ".1%", orient: "bottom" } }
          : { value: "#56a0d3" },
        tooltip: [{ field: "view" }, { field: "attribute" }, ...(shared ? [{ field: "share", format: ".2%" }] : [])],
      },
    });
  }
  if (data.errors.length) {
    await draw(element("errors-chart"), {
      width: "container", height: 180, data: { values: data.errors },
      layer: [{ mark: { type: "bar", width: 40, color: "#56a0d3" } }, { mark: { type: "text", dy: -8, fontSize: 11 }, encoding: { text: { field: "error", type: "quantitative", format: ".2%" } } }],
      encoding: {
        x: { field: "size", type: "ordinal", title: "attributes asked for", axis: { labelAngle: 0 } },
        y: { field: "error", type: "quantitative", title: "noise part of the error / rows", axis: { format: ".1%" } },
      },
    });
  }
}

facts();
summary();
picker();
element("download").addEventListener("click", download);
show();
pictures();
