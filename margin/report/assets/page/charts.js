// The chart of the table.

/** A colour of the page, which follows the screen, light or dark, or the paper. */
const colour = (name) => `var(--${name})`;

function style() {
  const text = { labelColor: colour("ink"), titleColor: colour("ink") };
  return {
    font: "system-ui, sans-serif", background: null, view: { stroke: null }, legend: { ...text, aria: false }, mark: { aria: false, invalid: "break-paths-show-domains" },
    header: { ...text, labelFontSize: 12, labelFontWeight: "bold" },
    axis: { ...text, aria: false, labelSeparation: 8, labelFontSize: 12, titleFontSize: 12, labelLimit: 0, gridColor: colour("line"), domainColor: colour("line"), tickColor: colour("line") },
  };
}

/** What the chart shows of a line: its count or its percentage, with bounds, as numbers and as the texts of the table. */
function drawing() {
  if (scale === "count") {
    return { title: "count", of: (row) => ({ value: row.count, low: row.low, high: row.high, text: whole.format(row.count), bounds: bounds(row) }) };
  }
  const sumOf = sums();
  const wholeOf = wholesAt(within);
  const restOf = restsAt(together());
  const of = (row) => {
    const value = shareIn(row, sumOf);
    const all = wholeOf(row);
    const rest = restOf(row, all);
    const [low, high] = shareBounds(row, all, rest) ?? [NaN, NaN];
    return { value, low, high, text: percentOf(value), bounds: shareEnds(row, all, rest)?.join(" to ") ?? "" };
  };
  return { title: shareName(), axis: { format: ".2~%" }, of };
}

/** What charts tell of a record where a reader points at it. */
const tooltips = ({ title }) => [{ field: "text", title }, { field: "bounds" }];

/** A bar for each count, with its interval. Vega gives dots and brackets in field names a meaning, so the fields have fixed names. */
function barLayers({ y, below }, { title, axis: own }, width, bounds) {
  const bar = below ? { height: 14, yOffset: below } : {};
  const axis = { ...own, tickCount: Math.max(2, Math.round(width / 110)) };
  const layers = [{
    mark: { type: "bar", color: colour("bar"), ...bar },
    encoding: { y, x: { field: "value", type: "quantitative", title, axis } },
  }];
  if (bounds) {
    layers.push({
      mark: { type: "rule", color: colour("ink"), strokeWidth: 1.5, yOffset: below },
      encoding: { y, x: { field: "low", type: "quantitative" }, x2: { field: "high" } },
    });
  }
  return layers;
}

/** A text without its middle, of about `most` letters. It keeps whole words, since a part of "30" is another number, unless a single word is too long. */
function withoutMiddle(text, most) {
  const half = Math.floor(most / 2);
  // The letter behind says whether the last word is whole, and the letter before whether the first one is.
  const [start, end] = [text.slice(0, half + 1).replace(/\s\S*$/, ""), text.slice(-half - 1).replace(/^\S*\s/, "")];
  return `${start.length > half ? text.slice(0, half) : start}…${end.length > half ? text.slice(-half) : end}`;
}

/** Texts of at most `most` letters that stay different: the middle of a long one is left out. */
function shortened(texts, most) {
  const cut = texts.map((text) => (text.length > most ? withoutMiddle(text, most) : text));
  return cut.map((text, place) => {
    const before = cut.slice(0, place).filter((other) => other === text).length;
    return before ? `${text} (${before + 1})` : text;
  });
}

const lettersIn = (width) => Math.max(16, Math.floor(width / 18));

/** Pixels of a line of a label, and the largest number of lines. */
const LABEL_LINE = 15;
const MOST_LABEL_LINES = 3;

/** Where the labels of bars stand: beside them or, if one were cut there, above them, over the whole width and in as many lines as they need. */
function placed(labels, width) {
  const y = { field: "name", type: "nominal", sort: null, title: null };
  if (labels.every((label) => label.length <= lettersIn(width))) return { y, step: 20, below: 0, short: labels };
  const letters = Math.floor(width / 7.5);
  const lines = shortened(labels, MOST_LABEL_LINES * letters).map((label) => wrapped(label, letters));
  // The first line stands where a single one does, and the bar as far below the last one.
  const more = LABEL_LINE * (Math.max(...lines.map((own) => own.length)) - 1);
  const axis = {
    labelAlign: "left", labelPadding: -3, labelOffset: -9 - more / 2, labelLineHeight: LABEL_LINE, labelExpr: "split(datum.label, '\\n')",
    ticks: false, domain: false, zindex: 1,
  };
  return { y: { ...y, axis }, step: 36 + more, below: 8 + more / 2, short: lines.map((own) => own.join("\n")) };
}

/** The words of a text in lines of at most `most` letters, but at least one word. */
function wrapped(text, most) {
  const lines = [""];
  text.split(" ").forEach((word) => {
    if (lines.at(-1) && lines.at(-1).length + word.length >= most) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  });
  return lines;
}

/** What all lines have in common, and what the attributes of the table say, with the units of their numbers, in lines for the title of a chart. */
function descriptions(width) {
  const own = alike();
  const common = own.map((place) => {
    const axis = shown.asked[place];
    return `${nameOf(axis)}: ${joinedName(place)}${isDescribed(axis) ? ` (${data.attributes[axis].description})` : ""}`;
  });
  const others = shown.asked.filter((axis, place) => isDescribed(axis) && !own.includes(place)).map(toldOf);
  return [...common, ...others].flatMap((text) => wrapped(text, lettersIn(2 * width)));
}

const hasBounds = (value) => Number.isFinite(value.low);

/** What thin lines or a band in a chart are, and how many lines of the table have none; empty if none has bounds. */
function legendOf({ data: { values } }, what) {
  const lacking = values.filter((value) => !hasBounds(value)).length;
  if (lacking === values.length) return "";
  return `${what} from the low to the high bound.${lacking ? ` Without bounds in this chart: ${whole.format(lacking)} of ${lineCount(values.length)}.` : ""}`;
}

const ON_BARS = "The thin line on each bar goes";
const AROUND = "The band around the line goes";

const titled = (text) => ({ text, anchor: "start", fontSize: 12, color: colour("ink") });

function bars(rows, title, width, shows) {
  const names = rows.map((row) => row.labels.join(" · "));
  const placing = placed(names, width);
  const { short, step } = placing;
  const values = rows.map((row, place) => ({
    name: short[place], full: names[place], ...shows.of(row),
  }));
  const layer = barLayers(placing, shows, width, values.some(hasBounds));
  return {
    width: "container", height: step * values.length, data: { values }, layer,
    encoding: { tooltip: [{ field: "full", title }, ...tooltips(shows)] },
  };
}

/** The counts of many ordered categories in their order: a line, and a band for the intervals. */
function line(rows, title, shows) {
  const values = rows.map((row, place) => ({
    place, name: row.labels[0], ...shows.of(row),
  }));
  const x = { field: "name", type: "ordinal", sort: null, title, axis: { labelOverlap: "greedy", labelAngle: 0 } };
  const y = { type: "quantitative", title: shows.title, axis: { ...shows.axis } };
  const layer = [{ mark: { type: "line", color: colour("ink"), strokeWidth: 1.5 }, encoding: { x, y: { ...y, field: "value" } } }];
  if (values.some(hasBounds)) {
    layer.unshift({ mark: { type: "area", color: colour("bar"), opacity: 1 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" } } });
  }
  return {
    width: "container", height: 260, data: { values }, layer,
    encoding: { tooltip: [{ field: "name", title }, ...tooltips(shows)] },
  };
}

/** Bars in a panel for each combination of all attributes but the last, whose labels are then written once a panel. */
function panels(rows, names, labels, width, shows) {
  const placing = placed(labels, width);
  const short = new Map(labels.map((label, place) => [label, placing.short[place]]));
  const values = rows.map((row) => ({
    group: row.labels.slice(0, -1).join(" · "), name: short.get(row.labels.at(-1)), ...shows.of(row),
  }));
  const title = names.slice(0, -1).join(" · ");
  // Without a list, panels would be in the order of the alphabet.
  const groups = [...new Set(values.map((value) => value.group))];
  const header = { title: null, labelAngle: 0, labelAlign: "left", labelAnchor: "start", labelOrient: "top", labelPadding: 3 };
  return {
    data: { values }, spacing: 6,
    facet: { row: { field: "group", type: "nominal", sort: groups, header } },
    spec: {
      width: Math.max(120, placing.below ? width - 30 : width - 150), height: { step: placing.step },
      layer: barLayers(placing, shows, width, values.some(hasBounds)),
      encoding: { tooltip: [{ field: "group", title }, { field: "name", title: names.at(-1) }, ...tooltips(shows)] },
    },
  };
}

/** A map of colours. A small one has each count with its bounds, if the screen has room for them. */
function heat(rows, titles, labels, width, shows) {
  // The middle of long labels is left out.
  const [ones, twos] = labels.map((own) => {
    const short = shortened(own, lettersIn(width));
    return new Map(own.map((label, place) => [label, short[place]]));
  });
  const values = rows.map((row) => ({
    one: ones.get(row.labels[0]), two: twos.get(row.labels[1]), ...shows.of(row),
  }));
  const longest = (texts) => Math.max(...texts.map((text) => text.length));
  const beside = 6 * longest([...ones.values()]);
  const wanted = twos.size * (5 * longest(values.map((value) => value.bounds)) + 4);
  const small = values.length <= 60 && wanted <= width - beside;
  const slanted = twos.size * 7 * (longest([...twos.values()]) + 1) > width - beside;
  const position = {
    x: { field: "two", type: "nominal", sort: null, title: null, axis: { labelAngle: slanted ? -40 : 0 } },
    y: { field: "one", type: "nominal", sort: null, title: null },
  };
  const layers = [{
    mark: "rect",
    encoding: { color: { field: "value", type: "quantitative", scale: { scheme: "viridis", reverse: true }, title: shows.title, legend: { ...shows.axis, orient: "bottom" } } },
  }];
  if (small) {
    // Of white and black, one has a contrast of at least 4.58 to any colour: the root of 21.
    const contrast = (ink) => `contrast('${ink}', scale('color', datum.value))`;
    const ink = { condition: { test: `${contrast("white")} > ${contrast("black")}`, value: "white" }, value: "black" };
    layers.push({ mark: { type: "text", fontSize: 11, dy: -6 }, encoding: { text: { field: "text" }, color: ink } });
    layers.push({ mark: { type: "text", fontSize: 9, dy: 7 }, encoding: { text: { field: "bounds" }, color: ink } });
  }
  const text = [`${titles[0]} (down) by ${titles[1]} (across)`, ...descriptions(width)];
  return {
    title: titled(text),
    width: "container", height: (small ? 34 : 24) * ones.size, data: { values }, layer: layers,
    encoding: { ...position, tooltip: [{ field: "one", title: titles[0] }, { field: "two", title: titles[1] }, ...tooltips(shows)] },
  };
}

/** What a table or a chart shows, in words. */
const countsBy = (names, counts = "Counts") => `${counts} by ${new Intl.ListFormat("en").format(names)}`;

/** A chart as Vega runs it. */
function compiled(spec, description) {
  const size = spec.facet ? {} : { autosize: { type: "fit-x", contains: "padding" } };
  return vega.parse(vegaLite.compile({ ...spec, description, ...size, config: style() }).spec);
}

/** Draw a chart. Its description stands for it: what readers hear of its parts would be less than the table says. */
async function draw(place, spec, description) {
  place.replaceChildren();
  const view = new vega.View(compiled(spec, description), { renderer: "svg", container: place, hover: true });
  view.tooltip((handler, event, item, value) => { place.title = value ? Object.entries(value).map(([name, text]) => `${name}: ${text}`).join("\n") : ""; });
  await view.runAsync();
  place.querySelector("svg").setAttribute("aria-hidden", "true");
  // Vega calls it a document, in which readers would look for parts.
  place.setAttribute("role", "img");
  place.removeAttribute("aria-roledescription");
  // Keys scroll a chart that is wider than its place only while it has the focus.
  if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}

/** Draw the chosen lines of the table, and say so. */
async function chart() {
  const place = element("chart");
  ["drawn", "legend"].forEach((id) => { element(id).textContent = ""; });
  if (!shown) { place.replaceChildren(); return; }
  const { spec, description, note, legend } = charted(place.clientWidth);
  const isPart = matching().length < shown.rows.length;
  element("drawn").textContent = note || (isPart ? "The chart shows the chosen lines." : "");
  element("legend").textContent = legend;
  await draw(place, spec, `${description}; the table above has the numbers`);
}

/** The chart of the chosen lines, what it shows in words, what its lines for bounds are, and a note where it does not show all chosen lines. */
function charted(width) {
  const shows = drawing();
  const all = shown.asked.map(nameOf);
  const chosen = matching();
  const isPart = chosen.length < shown.rows.length;
  const withLabels = (row) => ({ ...row, labels: places.map((place) => row.labels[place]) });
  const start = countsBy(all, scale === "count" ? "Counts" : `Percentages ${within.length ? "within" : "of"} ${wholeName()}`);
  const description = `${start}${isPart && conditioned().length ? `; only ${condition()}` : ""}`;
  // What all lines have in common stands above the chart; see `descriptions`.
  const apart = [...all.keys()].filter((place) => !alike().includes(place));
  const places = apart.length ? apart : [...all.keys()];
  const names = places.map((place) => all[place]);
  const rows = chosen.map(withLabels);
  // The categories that have a line, in their declared order.
  const labels = places.map((place) => [...new Map(chosen.map((row) => [row.codes[place], row.labels[place]])).entries()]
    .sort(([one], [other]) => one - other).map(([, label]) => label));
  const [first, second] = labels.map((own) => own.length);
  // The bounds of percentages have their place in bars.
  const isMap = names.length === 2 && first > 2 && second > 2 && second <= 60 && (scale === "count" || rows.length > MOST_BARS);
  if (isMap) return { spec: heat(rows, names, labels, width, shows), description, note: "", legend: "" };
  const text = descriptions(width);
  const title = text.length ? { title: titled(text) } : {};
  if (names.length > 1 && rows.length > 1 && rows.length <= MOST_BARS) {
    const spec = { ...panels(rows, names, labels.at(-1), width, shows), ...title };
    return { spec, description, note: "", legend: legendOf(spec, ON_BARS) };
  }
  if (names.length === 1 && rows.length > MOST_BARS && data.attributes[shown.asked[places[0]]].ordered) {
    const spec = { ...line(rows, names[0], shows), ...title };
    return { spec, description, note: "", legend: legendOf(spec, AROUND) };
  }
  const most = rows.map((row) => [row, shows.of(row).value]).sort(([, one], [, other]) => other - one).map(([row]) => row).slice(0, MOST_BARS);
  const some = `The chart shows the ${MOST_BARS} largest ${scale === "count" ? "counts" : "percentages"} of ${isPart ? "the chosen lines" : "the table"}.`;
  const isLarge = rows.length > MOST_BARS;
  const spec = { ...bars(isLarge ? most : inOrder().map(withLabels), names.join(" · "), width, shows), ...title };
  return { spec, description, note: isLarge ? some : "", legend: legendOf(spec, ON_BARS) };
}
