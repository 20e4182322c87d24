"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const LEVEL = 0.95;
const QUANTILE = 1.959963984540054; // of the normal law, for LEVEL
const MOST_ROWS = 1000;
const MOST_BARS = 60;
/** Rows by which a bound may lie beyond a whole number because of rounding errors of floats. */
const ROUNDING = 1e-6;
/** The number of lines from which a table has lists of categories, to choose lines and to add them up. */
const MANY_LINES = 3;
/** The largest part of the height of the table's box that its head takes while the lines scroll. */
const HEAD_SHARE = 1 / 3;
/** The number of categories from which such a list has a field to search in it. */
const MANY_CATEGORIES = 13;
/** The number of categories in a sentence, above which only their number is told. */
const MOST_TOLD = 4;
/** The number of categories that a search names beside an attribute. */
const MOST_FOUND = 3;
/** The number of lines of a download that holds many tables. */
const MOST_LINES = 250000;
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0, roundingMode: "halfEven", signDisplay: "negative" });
const percents = (roundingMode) => new Intl.NumberFormat("en-US", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode });
const percent = percents("halfExpand");
const sizes = data.attributes.map((attribute) => attribute.labels.length);
/** The attributes without their levels, which follow them in the list. */
const attributes = data.attributes.filter((attribute) => attribute.level_of === null);
/** The attribute that an axis is, or is a level of. */
const attributeOf = (axis) => data.attributes[axis].level_of ?? axis;
/** The name of an axis in files, such as "place@state" for a level. */
const columnOf = (axis) => data.attributes[axis].name;
/** The names of the axes for readers: that of a level by itself, such as "state", with its attribute if another one has this name. */
const names = (() => {
  const own = data.attributes.map(({ name, level_of: of }) => (of === null ? name : name.slice(columnOf(of).length + 1)));
  const isUnique = (name) => own.filter((other) => other === name).length === 1;
  return own.map((name, axis) => (attributeOf(axis) === axis || isUnique(name) ? name : `${name} (${columnOf(attributeOf(axis))})`));
})();
const nameOf = (axis) => names[axis];
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

/** The share of one answer along an axis of n categories in a sum of m of them: see `ComponentErrors.concentration_of` in the Python source.
 *
 * The n answers have the weights 1 - m / n, m times, and -m / n. Two categories have one answer, their difference. */
function answerShare(n, m) {
  if (n <= 2) return 1;
  const part = m / n;
  const squares = m * (1 - part) ** 2 + (n - m) * part ** 2;
  return (m * (1 - part) ** 4 + (n - m) * part ** 4) / squares ** 2;
}

/** The variance of a sum of cells of a marginal of a view, and the sum of the squares of the shares that the answers on
 * components have in it: see `covered_covariance` and `Tables.component_concentration` in the Python source.
 *
 * The sum is over a number of categories of each axis, by default one: then it is a cell. */
function coveredVariance(view, asked, many = asked.map(() => 1)) {
  const precision = doubles(view.precision);
  const places = asked.map((axis) => view.axes.indexOf(axis));
  let sum = 0;
  let squares = 0;
  for (let part = 0; part < 1 << asked.length; part += 1) {
    const functions = product(asked.map((axis, place) => many[place] * (part >> place & 1 ? sizes[axis] - many[place] : many[place])));
    const mask = places.reduce((all, own, place) => (part >> place & 1 ? all | 1 << own : all), 0);
    if (functions) {
      const own = functions / precision[mask];
      sum += own;
      squares += own ** 2 * product(asked.map((axis, place) => (part >> place & 1 ? answerShare(sizes[axis], many[place]) : 1)));
    }
  }
  const variance = sum / product(asked.map((axis) => sizes[axis])) ** 2;
  return { variance, ofComponents: sum > 0 ? squares / sum ** 2 : 0 };
}

/** Half the width of the interval of a sum of cells of a marginal of a view: see `Tables.concentration` and `half_widths`. */
function halfWidthOf({ variance, ofComponents }, asked, number = 1) {
  const cells = product(asked.map((axis) => sizes[axis]));
  let concentration = data.by_components ? ofComponents : 0;
  for (const table of data.measured) {
    if (asked.every((axis) => table.axes.includes(axis))) {
      const summed = number * product(table.axes.map((axis) => sizes[axis])) / cells;
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
    apart: answer.apart,
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

/** The marginal on some axes, and its source; null if this page does not hold it. */
function onPage(asked) {
  const covering = coveringView(asked);
  if (covering) return covered(covering, asked);
  const known = answers.get(key(asked));
  return known ? fromAnswer(known, asked) : null;
}

/** The marginal on some axes, and its source; null if neither the page nor a server has it. */
async function marginal(asked) {
  const known = onPage(asked);
  if (known || !data.live) return known;
  const query = new URLSearchParams(asked.map((axis) => ["attribute", columnOf(axis)]));
  const reply = await fetch(`/marginal?${query}`);
  const answer = await reply.json();
  if (!reply.ok) return { error: answer.error };
  return fromAnswer(answer, asked);
}

/** Bounds, rounded outwards to whole numbers: see `whole_bounds` in the Python source. */
function wholeBounds(low, high) {
  return [Math.floor(low + ROUNDING), Math.ceil(high - ROUNDING)];
}

/** The bounds of a count, as whole numbers, from half the width of its interval. */
const boundsAround = (count, half) => wholeBounds(Math.min(Math.max(count - half, 0), count), Math.max(count + half, 0));

/** One record per cell, in the order of the table. Its bounds are whole numbers. */
function records(asked, answer) {
  return Array.from(answer.counts, (count, cell) => {
    const labels = new Array(asked.length);
    const codes = new Array(asked.length);
    let rest = cell;
    for (let place = asked.length - 1; place >= 0; place -= 1) {
      codes[place] = rest % sizes[asked[place]];
      labels[place] = data.attributes[asked[place]].labels[codes[place]];
      rest = Math.floor(rest / sizes[asked[place]]);
    }
    const half = answer.halfWidths[cell];
    const [low, high] = boundsAround(count, half);
    return { labels, codes, count, low, high, known: half === 0 };
  });
}

const isKnown = (bound) => !Number.isNaN(bound);
const range = (low, high) => `${whole.format(low)} to ${whole.format(high)}`;
/** The bounds of a record as text; empty where they are not known. */
const bounds = (row) => (isKnown(row.low) ? range(row.low, row.high) : "");

/** The nodes of each level of a tree, as texts of two parts: a node, and its nodes of the next level. Dates need none. */
function belonging(named) {
  return [...data.attributes.keys()].filter((axis) => data.attributes[axis].members).map((axis) => {
    const level = data.attributes[axis];
    const lower = data.attributes[level.next_level];
    let start = 0;
    const nodes = level.labels.map((label, node) => [label, lower.labels.slice(start, start += level.members[node]).join(", ")]);
    return { head: `${named(level.next_level)} by ${named(axis)}`, nodes };
  });
}

/** Show what belongs to which level. A list of many is made when it is opened. */
function groups() {
  const place = element("grouped");
  place.hidden = !data.attributes.some((level) => level.members);
  place.addEventListener("toggle", () => {
    for (const { head, nodes } of belonging(nameOf)) {
      const title = document.createElement("p");
      title.textContent = head;
      const list = document.createElement("dl");
      for (const [node, lower] of nodes) {
        ["dt", "dd"].forEach((kind, part) => {
          const item = document.createElement(kind);
          item.textContent = [node, lower][part];
          list.append(item);
        });
      }
      place.append(title, list);
    }
  }, { once: true });
}

/** Milliseconds after which a change is told, so that of several changes in a row only the last one is. */
const TOLD_AFTER = 200;
let telling = 0;

/** Tell readers who do not see the page what changed, in short words. */
function tell(text) {
  clearTimeout(telling);
  element("told").textContent = "";
  telling = setTimeout(() => { element("told").textContent = text; }, TOLD_AFTER);
}

const lineCount = (number) => `${whole.format(number)} line${number === 1 ? "" : "s"}`;

/** How many lines the table shows, to be told after a change. */
function linesShown() {
  const number = matching().length;
  return `${number > MOST_ROWS ? `The first ${whole.format(MOST_ROWS)} of ${lineCount(number)}` : lineCount(number)} shown.`;
}

/** The table in short words, to be told when it is another one. */
function tableTold() {
  if (!shown) return element("status").textContent;
  const beware = isEstimate() ? " Do not compare groups in it." : "";
  return `${element("asked").textContent}: ${KINDS[shown.source] ?? shown.source}. ${linesShown()}${beware}`;
}

let selected = [];
let shown = null;
/** The column by which lines are sorted: a number, "share", or the place of an attribute; null for the declared order. */
let sorted = { column: null, descending: true };
/** The places of the attributes within whose categories percentages add up to 100 %; none for the whole table. */
let within = [];
/** What the chart shows: "count", or "share" for percentages. */
let scale = "count";
/** The codes of the ticked categories, a set for each attribute of the table. An empty set is no condition. */
let ticked = [];
/** For each attribute of the table, whether its ticked categories are put together as one. */
let joined = [];
let boxes = [];
let turn = 0;

async function show() {
  const mine = ++turn;
  const asked = [...selected];
  element("asked").textContent = asked.length
    ? asked.map(nameOf).join(" × ") : "No attribute chosen";
  const answer = asked.length ? await marginal(asked) : null;
  if (mine !== turn) return;
  const failed = answer === null || answer.error !== undefined;
  shown = failed ? null : { asked, answer, source: answer.source, rows: records(asked, answer) };
  choices();
  element("download").hidden = failed;
  sorted = { column: null, descending: true };
  within = [];
  scale = "count";
  offer();
  wholes();
  scales();
  quote();
  element("status").textContent = !asked.length
    ? `Choose up to ${data.most} attributes to see how many rows there are of each kind.`
    : answer === null
      ? "This page does not hold the counts of this combination. Choose fewer attributes."
      : answer.error ?? data.sources[answer.source];
  element("made").className = isEstimate() ? "warning" : "";
  element("apart").textContent = failed ? "" : answer.apart ?? "";
  element("near").textContent = near(asked);
  table();
  // Nobody has to be told what the page shows first.
  if (mine > 1) tell(tableTold());
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
    box.parentElement.title = unknown
      ? "This page does not hold these attributes together."
      : full ? `At most ${data.most} attributes can be chosen.` : "";
    if (unknown) grey += 1;
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

/** Whether attributes of the table were not measured together, so that groups in it must not be compared. */
const isEstimate = () => shown !== null && ["reconstructed", "assumed"].includes(shown.source);

/** Whether a sum or a line comes from a table that was measured or is public, so that its percentage in another one has bounds. */
const isMeasured = ({ source }) => ["measured", "known"].includes(source);

const isDescribed = (axis) => data.attributes[axis].description !== null;
/** The name of an attribute with its declared description, such as "income: EUR a month"; the name alone if it has none. */
const toldOf = (axis) => (isDescribed(axis) ? `${nameOf(axis)}: ${data.attributes[axis].description}` : nameOf(axis));

/** Which measured tables are nearest to a table that was not measured: the largest within it or, if these are of one attribute, those that share an attribute with it. */
function near(asked) {
  if (shown?.source !== "reconstructed") return "";
  const own = asked.map(attributeOf);
  const views = data.views.map((view) => view.axes);
  const within = views.map((axes) => own.filter((axis) => axes.includes(axis))).filter((axes) => axes.length > 1);
  const largest = within.filter((axes) => !within.some((other) => other.length > axes.length && axes.every((axis) => other.includes(axis))));
  const tables = [...new Map(largest.map((axes) => [key(axes), axes.map(nameOf).join(" × ")])).values()];
  if (tables.length) return `Measured together: ${listed(tables)}.`;
  const partners = own.map((axis) => {
    const others = views.filter((axes) => axes.includes(axis)).flat().filter((other) => other !== axis);
    return others.length ? `${nameOf(axis)} with ${listed([...new Set(others)].sort((one, other) => one - other).map(nameOf))}` : "";
  });
  const found = partners.filter((text) => text);
  return found.length ? `Measured together: ${found.join("; ")}.` : "";
}

/** A head with a button that sorts by its column. */
function sortHead(column, name, style) {
  const head = cell("th", "", style);
  const button = sortButton(column, name);
  // Print shows this text in place of the button.
  head.dataset.head = button.textContent;
  if (sorted.column === column) head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
  head.append(button);
  return head;
}

/** A button that sorts by a column: numbers from the largest one, categories from the first one; then the reverse; then not at all. */
function sortButton(column, name = column) {
  const button = document.createElement("button");
  const active = sorted.column === column;
  const descends = typeof column === "string";
  button.type = "button";
  button.className = "sort";
  button.textContent = `${name}${active ? (sorted.descending ? " ↓" : " ↑") : ""}`;
  button.title = `sort by ${name}`;
  button.addEventListener("click", () => {
    if (!active) sorted = { column, descending: descends };
    else if (sorted.descending === descends) sorted = { column, descending: !descends };
    else sorted = { column: null, descending: true };
    table();
    chart();
    tell(`${sortTold(name)} ${linesShown()}`);
    const same = [...element("table").tHead.querySelectorAll("button")].filter((other) => other.title === button.title);
    // A narrow screen shows another button than a wide one.
    same.find((other) => other.offsetParent !== null).focus();
  });
  return button;
}

/** How the lines are sorted, in words. */
function sortTold(name) {
  if (sorted.column === null) return "Lines are in their declared order.";
  const ends = typeof sorted.column === "string" ? ["smallest", "largest"] : ["first category", "last category"];
  return `Sorted by ${name}, from the ${ends[Number(sorted.descending)]}.`;
}

/** The heads of columns that a narrow screen has no room for. They stand below the head of the count. */
function narrowHeads() {
  const bounds = document.createElement("span");
  bounds.className = "narrow";
  bounds.append(sortButton("low"), " to ", sortButton("high"));
  const share = document.createElement("span");
  share.className = "narrow";
  share.append(sortButton("share", shareName()));
  return [bounds, share, ...(hasShareEnds() ? [cell("span", "bounds of %", "narrow")] : [])];
}

/** What the whole is called: if the rows of a person were limited, not all rows were counted. */
function allRows() {
  return data.statement.unit === null ? "all rows" : "counted rows";
}

/** The names of the attributes at some places of the table. */
const namesAt = (places) => places.map((place) => nameOf(shown.asked[place])).join(" × ");

function shareName() {
  const name = within.length ? `% within ${namesAt(within)}` : `% of ${allRows()}`;
  return isEstimate() ? `${name}, estimated` : name;
}

/** What percentages are of. */
const wholeName = () => (within.length ? `each ${namesAt(within)}` : allRows());

/** Offer what the chart shows: counts or, where they have bounds, percentages. */
function scales() {
  element("charting").hidden = !shown;
  if (!shown) return;
  const offered = [new Option("counts", "count")];
  if (hasShareEnds()) offered.push(new Option(`percentages of ${wholeName()}`, "share"));
  element("scale").replaceChildren(...offered);
  element("scale").value = scale;
}

/** All places of the table but one. */
const allBut = (left) => shown.asked.map((_, place) => place).filter((place) => place !== left);

/** Offer what percentages are of: of all counted rows, or of the rows of each category of an attribute or of all attributes but one. */
function wholes() {
  const select = element("whole");
  const many = shown ? shown.asked.length : 0;
  element("within").hidden = many < 2;
  select.replaceChildren(new Option(allRows(), ""));
  if (many < 2) return;
  const singles = shown.asked.map((_, place) => [place]);
  const larger = many > 2 ? shown.asked.map((_, place) => allBut(place)).reverse() : [];
  [...singles, ...larger].forEach((places) => select.append(new Option(`each ${namesAt(places)}`, places.join(","))));
}

/** The sums of which the percentages are shares, for each line. */
function sums() {
  const found = new Map();
  const group = (row) => within.map((place) => codeAt(place, row.codes[place])).join(",");
  for (const row of shown.rows) found.set(group(row), (found.get(group(row)) ?? 0) + row.count);
  return (row) => found.get(group(row));
}

/** The share of a line in the sum of `sums`; 0 if that is not positive. */
const shareIn = (row, sumOf) => (sumOf(row) > 0 ? row.count / sumOf(row) : 0);

/** How tables were made, in few words. */
const KINDS = { known: "public", measured: "measured", based: "measured, combined with the base", reconstructed: "reconstructed", answered: "answered" };

/** What a quotation says of a number behind its words, by the way in which the table was made that has the number as a line or as a sum. */
const QUOTED = {
  known: () => "This number is public and has no noise.”",
  measured: (number, ends) => `With a probability of about 95 %, ${number} is from ${ends}; noise was added for privacy.”`,
  based: (number, ends) => estimated("estimated in part", number, ends),
  reconstructed: (number, ends) => estimated("not measured, but estimated from smaller tables", number, ends),
};

const estimated = (how, number, ends) => `This number was ${how}; noise was added for privacy. On average, 95 % of such estimates have ${number} between their bounds: here, ${ends}.”`;

/** The number to quote: the sum of the chosen lines or, without its bounds, the largest count of the lines that are shown; null without any.
 *
 * It has the source of the table that has it: a sum of lines of a reconstructed table may be a line of a measured one. */
function quotable() {
  const chosen = matching();
  const left = chosen.filter((row) => isKnown(row.low) && !row.known);
  const row = left.reduce((most, one) => (one.count > most.count ? one : most), left[0] ?? chosen[0]);
  const places = limited();
  const sum = chosen.length > 1 && places.length && !together().length ? sumAt(places) : {};
  if (sum.source in QUOTED && (sum.ends || sum.known)) {
    const [low, high] = sum.ends ?? [sum.count, sum.count];
    const from = places.length < shown.asked.length && sum.source !== shown.source ? namesAt(places) : "";
    return { count: sum.count, low, high, source: sum.known ? "known" : sum.source, from, what: condition(Infinity), share: shareOfSum(), row };
  }
  if (!left.length) return null;
  const what = shown.asked.map((axis, place) => `${nameOf(axis)}: ${row.labels[place]}`).join(", ");
  return { ...row, source: row.source ?? shown.source, from: row.from ?? "", what, share: shareOf(row, within), row };
}

/** A sentence that quotes a number of the table, and what else can be said with its numbers. */
function quote() {
  const isBounded = shown && shown.rows.every((row) => isKnown(row.low));
  element("quote").hidden = !isBounded || !["measured", "based", "reconstructed"].includes(shown.source);
  if (element("quote").hidden) return;
  const quotes = quotable();
  element("quoted").hidden = element("shares").hidden = quotes === null;
  if (quotes === null) return;
  const { unit, rows } = data.statement;
  const counted = unit === null ? "" : ` (at most ${rows} counted for each ${unit})`;
  const number = unit === null ? "the true number" : "the true number of counted rows";
  const about = quotes.source === "known" ? `“${whole.format(quotes.count)}` : `“About ${whole.format(quotes.count)}`;
  const from = quotes.from && ` This number is ${KINDS[quotes.source]}: the table ${quotes.from} has it.`;
  element("quoted").textContent = `For example: ${about} rows have ${quotes.what}${counted}. ${QUOTED[quotes.source](number, bounds(quotes))}${from}`;
  element("compare").textContent = comparing();
  const measured = shown.source === "measured";
  element("shares").textContent = measured ? sharing(quotes.row, quotes.share) : quotes.share && `Its percentage has bounds, too: ${quotes.share}.`;
  element("sums").textContent = measured
    ? `${element("filtering").hidden ? "" : SUMMING}${data.adding}`
    : `${element("filtering").hidden ? "" : CHOOSING}Do not add up bounds of lines of this table: ${"Contact" in data.imprint ? "the contact below" : "whoever has the file of the release"} can compute a sum with its bounds.`;
}

const CHOOSING = "For a sum of lines, choose their categories above the table: the text below the table then gives the sum and, where this page can tell them, its bounds. ";
const SUMMING = "For a sum of lines, choose their categories above the table: the text below the table then gives the sum with its bounds. Where it gives none, follow these rules. ";

/** What bounds say about which of two counts is larger. */
function comparing() {
  if (isEstimate()) return "Do not compare counts, shares or ratios of groups in this table, even if their bounds do not overlap: what distinguishes the groups may not be in these numbers. Compare groups in measured tables.";
  const overlap = "If the bounds of two counts overlap, do not conclude from them that one true number is larger than the other.";
  if (shown.source !== "measured") return overlap;
  return `${overlap} If they do not overlap, it is larger with a probability of about 95 % or more; of many such conclusions, some may be wrong. This holds for measured tables only.`;
}

/** How to give bounds to a share, with that of the quoted number and those of a line as examples.
 *
 * To first order, the error of c - r T has at most the standard deviation of c plus r times that of T, whatever their correlation is. */
function sharing(row, first) {
  return "A share or a ratio has bounds, too: divide the low bound of one count by the high bound of the other, and the high bound by the low bound."
    + `${first && ` The bounds of the percentages in the table are computed in this way: here, ${first}.`} These bounds are wider than need be, so they hold at least as often.`
    + ` If those of two shares overlap, do not conclude which one is larger. How far two shares are apart has bounds, too: low minus high, and high minus low. ${APART}${shareOfGroup(row)}`;
}

const APART = "For example, shares of 48.0% to 54.8% and of 31.6% to 34.6% are 13.4 to 23.2 percentage points apart.";

/** Where the two counts stand that give the share of one category in a group, with an example. */
function shareOfGroup(row) {
  const last = shown.asked.length - 1;
  if (last < 1) return "";
  const others = within.length === last ? within : allBut(last);
  const [one] = shown.asked.filter((_, place) => !others.includes(place));
  const group = namesAt(others);
  const lacks = onPage(others.map((place) => shown.asked[place])) || data.live ? "" : ", which this page does not hold";
  const example = others === within ? "" : shareOf(row, others);
  const same = new Intl.ListFormat("en").format(others.map((place) => nameOf(shown.asked[place])));
  const choose = others === within || lacks ? "" : `choose “each ${group}” from the list “Percentages of” above the table. By hand, `;
  return ` For the share of the rows with the same ${same} that are in one category of ${nameOf(one)}, ${choose}divide a count of this table by the count of the same line without ${nameOf(one)}: it stands in the table ${group}${lacks}.`
    + `${example && ` For example, ${example}.`}`;
}

/** The share of a line in the rows with the same categories at some places of the table, in words; empty without bounds. */
function shareOf(row, places) {
  const all = wholesAt(places)(row);
  const ends = isMeasured({ source: shown.source, ...row }) && isMeasured(all) ? shareEnds(row, all) : null;
  if (!ends) return "";
  const told = (some) => some.map((place) => `${nameOf(shown.asked[place])}: ${row.labels[place]}`).join(", ");
  const having = told(row.labels.map((_, place) => place).filter((place) => !places.includes(place)));
  const of = places.length ? `${allRows()} with ${told(places)}` : allRows();
  return `${ends.join(" to ")} of ${of} have ${having}`;
}

const downwards = percents("floor");
const upwards = percents("ceil");

/** The bounds of the share of some rows in others, as `sharing` explains them; null where they are not known. */
function shareBounds(part, all) {
  // The comparison is false for bounds that are not known, too.
  return all.low > 0 && isKnown(part.low) ? [part.low / all.high, Math.min(part.high / all.low, 1)] : null;
}

/** The same as texts. */
function shareEnds(part, all) {
  const ends = shareBounds(part, all);
  return ends && [downwards.format(ends[0]), upwards.format(ends[1])];
}

/** Whether the shares of the table have bounds. Those of estimates would invite to compare groups. */
const hasShareEnds = () => shown.source === "measured";

/** The lines of the table of the attributes at some places of the shown one, by their codes. Of none, that is the number of all rows. */
function linesAt(places) {
  const { low, high, ...total } = data.total ?? {};
  if (!places.length) return new Map([["", { ...total, low: low ?? NaN, high: high ?? NaN }]]);
  const axes = places.map((place) => shown.asked[place]);
  const answer = onPage(axes);
  const lines = answer ? merged(records(axes, answer), places, answer) : [];
  return new Map(lines.map((row) => [row.codes.join(","), { source: answer.source, ...row }]));
}

/** For each line, the number of rows with the same categories at some places of the table, with its bounds. */
function wholesAt(places) {
  const found = linesAt(places);
  return (row) => found.get(places.map((place) => row.codes[place]).join(",")) ?? {};
}

/** What counts lack if only some rows of a person were counted. */
function leftOut() {
  const { unit, rows } = data.statement;
  if (unit === null) return "";
  const most = `${rows} row${rows === 1 ? "" : "s"}`;
  return ` At most ${most} with the same “${unit}” were counted. So counts and totals may be too low.`;
}

/** How often bounds miss, and what small counts with noise do not say. */
function misses() {
  const noisy = shown.rows.filter((row) => isKnown(row.low) && !row.known);
  if (!noisy.length) return "";
  const often = ["answered", "assumed"].includes(shown.source) ? "" : "About 1 in 20 bounds misses the true number. ";
  const nobody = noisy.some((row) => row.high <= 1) ? "A high bound of 1 does not prove that nobody is there. " : "";
  const impossible = shown.asked.length > 1 ? "A combination that cannot occur can show a small count, and bounds above 0, because of the noise." : "";
  return `${often}${nobody}${impossible}`.trim();
}

/** How far two chosen lines of a measured table are apart; empty for others.
 *
 * The bounds are those of the rule in `data.adding`, which holds for any correlation of the two errors. */
function difference(rows) {
  const isRuled = rows.length === 2 && limited().length && shown.source === "measured" && !together().length;
  if (!isRuled || rows.some((row) => row.known || !isKnown(row.low))) return "";
  const [more, less] = rows[0].count < rows[1].count ? [rows[1], rows[0]] : rows;
  const [least, most] = [more.low - less.high, more.high - less.low];
  const told = least > 0 ? "so the larger count is of the larger true number with a probability of about 95 % or more"
    : "which allow 0: do not conclude which true number is larger";
  return ` The two counts differ by ${whole.format(more.count - less.count)}, with bounds of ${range(least, most)}, ${told}.`;
}

const sumOfCounts = (rows) => rows.reduce((sum, row) => sum + row.count, 0);

/** The sums of the counts of all lines and, if some are hidden, of the others. The bounds of the number of all rows follow, if that is the sum. */
function adding(rows) {
  const total = sumOfCounts(shown.rows);
  const { low, high, count } = data.total ?? {};
  const isAll = typeof low === "number" && Math.abs(total - count) < 1;
  const all = `${whole.format(total)}${isAll && low < high ? ` (${allRows()}: ${range(low, high)})` : ""}`;
  return limited().length
    ? `Before rounding, the counts of the lines with ${condition()} add up to ${whole.format(sumOfCounts(rows))}, and those of all lines of the table to ${all}.${boundsOfSum()}`
    : `Before rounding, the counts of this table add up to ${all}.`;
}

/** The sum of the lines with the ticked categories of the attributes at some places of the table, with its bounds; null where the page
 * cannot tell them.
 *
 * It is that of the lines with these categories in the table of these attributes alone. */
function sumAt(places) {
  if (!places.length) return { ...data.total, ends: data.total && isFinite(data.total.low ?? NaN) ? [data.total.low, data.total.high] : null };
  const axes = places.map((place) => shown.asked[place]);
  const answer = onPage(axes);
  const found = answer ? records(axes, answer).filter(({ codes }) => codes.every((code, at) => ticked[places[at]].has(code))) : [];
  const isLine = found.length === 1 && isKnown(found[0].low);
  return {
    count: sumOfCounts(found),
    ends: isLine ? [found[0].low, found[0].high] : endsOfSum(axes, answer, found),
    isLine,
    known: found.length > 0 && found.every((row) => row.known),
    source: answer?.source,
  };
}

/** The bounds of the sum of the chosen lines in words, if the page can tell them, and its percentage. */
function boundsOfSum() {
  const places = limited();
  const { count, ends, isLine, known, source } = sumAt(places);
  const isSmaller = places.length < shown.asked.length;
  const share = shareOfSum();
  const all = sumAt(places.filter((place) => within.includes(place))).count;
  const said = share && ` The percentage of the sum is ${percent.format(count / all)}: ${share}.`;
  // The shown table tells how it was made itself, but not how another one was.
  const made = source === shown.source || !(source in KINDS) ? "" : ` (${KINDS[source]})`;
  if (isLine) return isSmaller ? ` The table ${namesAt(places)}${made} has this sum as a line: ${whole.format(count)}, with bounds of ${range(...ends)}.${said}` : "";
  if (known) return "";
  if (ends) return ` Bounds of ${isSmaller ? `this sum, from the table ${namesAt(places)}${made},` : "the first sum"} are ${range(...ends)}.${said}`;
  const advice = element("quote").hidden ? "" : ": “How to quote a number” says what to do";
  return ` This page has no bounds for the sum of the chosen lines${advice}.`;
}

/** The bounds of the percentage of the chosen lines in what percentages are of, as texts; null if it has none, or is 100 % by choice.
 *
 * They need not the lines to be measured: the tables that have both sums must be. */
function shareEndsOfSum() {
  const places = limited();
  const own = places.filter((place) => within.includes(place));
  const [part, all] = [sumAt(places), sumAt(own)];
  if (own.length === places.length || !part.ends || !all.ends || !isMeasured(part) || !isMeasured(all)) return null;
  return shareEnds({ low: part.ends[0], high: part.ends[1] }, { low: all.ends[0], high: all.ends[1] });
}

/** The same in words; empty if it has none. */
function shareOfSum() {
  const places = limited();
  const own = places.filter((place) => within.includes(place));
  const ends = shareEndsOfSum();
  const rest = places.filter((place) => !own.includes(place));
  return ends ? `${ends.join(" to ")} of ${allRows()}${own.length ? ` with ${condition(Infinity, own)}` : ""} have ${condition(Infinity, rest)}` : "";
}

/** The bounds of the sum of some lines of a table; null if the page cannot compute them.
 *
 * The errors within a view are known with their covariances. Those of two other lines of a measured table follow from the rule of `adding`
 * in the Python source. Cells that are known have the weight 0, so they break the product of numbers of categories; they have no errors, so
 * they add to both bounds what they count. */
function endsOfSum(axes, answer, found) {
  if (answer?.source !== "measured") return null;
  const view = coveringView(axes);
  const noisy = found.filter((row) => !row.known).length;
  if (view && data.sums && noisy === found.length) {
    const many = axes.map((_, at) => new Set(found.map(({ codes }) => codes[at])).size);
    return boundsAround(sumOfCounts(found), halfWidthOf(coveredVariance(view, axes, many), axes, found.length));
  }
  return noisy === 1 || noisy === 2 ? ["low", "high"].map((name) => found.reduce((sum, row) => sum + row[name], 0)) : null;
}

/** The places of the attributes of which some categories are ticked, but not all. */
const limited = () => ticked.flatMap((codes, place) => (codes.size && codes.size < sizes[shown.asked[place]] ? [place] : []));

/** The ticked categories of an attribute in words; their number if they are many. */
function tickedIn(place, most = MOST_TOLD) {
  const { labels } = data.attributes[shown.asked[place]];
  const codes = [...ticked[place]].sort((one, other) => one - other);
  if (!codes.length) return "all categories";
  if (codes.length === 1) return labels[codes[0]];
  // Categories may have an "or" or a comma in them.
  const either = new Intl.ListFormat("en", { type: "disjunction" });
  return codes.length > most ? `${codes.length} of ${labels.length} categories` : either.format(codes.map((code) => `“${labels[code]}”`));
}

/** What the lines have that are shown, in words; of an attribute with more than `most` ticked categories only their number. */
const condition = (most = MOST_TOLD, places = conditioned()) => places.map((place) => `${nameOf(shown.asked[place])}: ${tickedIn(place, most)}`).join("; ");

/** The places of the attributes of which ticked categories are put together as one. */
const together = () => ticked.flatMap((codes, place) => (joined[place] && codes.size > 1 ? [place] : []));

/** The places of the attributes whose ticked categories say which rows the lines count. */
const conditioned = () => [...new Set([...limited(), ...together()])].sort((one, other) => one - other);

/** The code that a category has in the lines: categories that are together have the first of their codes. */
const codeAt = (place, code) => (together().includes(place) && ticked[place].has(code) ? Math.min(...ticked[place]) : code);

/** The name of the categories of an attribute that are together. */
function joinedName(place, most = MOST_TOLD) {
  const { labels } = data.attributes[shown.asked[place]];
  return ticked[place].size > most ? tickedIn(place) : labels.filter((_, code) => ticked[place].has(code)).join(" + ");
}

/** The lines of a table of the attributes at some places of the shown one: categories that are put together have one line, their sum. */
function merged(rows, places, answer) {
  const own = together();
  if (!places.some((place) => own.includes(place))) return rows;
  const axes = places.map((place) => shown.asked[place]);
  const groups = new Map();
  for (const row of rows) {
    const codes = row.codes.map((code, at) => codeAt(places[at], code));
    const name = codes.join(",");
    if (!groups.has(name)) groups.set(name, { codes, parts: [] });
    groups.get(name).parts.push(row);
  }
  // A sum over all categories of an attribute is a line of the table without it, which may have been measured.
  const left = places.filter((place) => !own.includes(place) || ticked[place].size < sizes[shown.asked[place]]);
  const smaller = left.length < places.length ? linesAt(left) : new Map();
  return [...groups.values()].map(({ codes, parts }) => {
    if (parts.length === 1) return parts[0];
    const named = (most) => parts[0].labels.map((label, at) => (own.includes(places[at]) ? joinedName(places[at], most) : label));
    const row = { labels: named(), full: named(Infinity), codes };
    const known = parts.every((part) => part.known);
    const count = sumOfCounts(parts);
    const ends = known ? boundsAround(count, 0) : endsOfSum(axes, answer, parts);
    if (ends) return { ...row, count, low: ends[0], high: ends[1], known };
    const same = smaller.get(left.map((place) => codes[places.indexOf(place)]).join(","));
    if (!same || !isKnown(same.low)) return { ...row, count, low: NaN, high: NaN, known };
    const { source, low, high } = same;
    return { ...row, count: same.count, low, high, known: same.known ?? false, source, from: namesAt(left) };
  });
}

/** The lines whose categories are ticked, in every attribute with ticks; those of categories that are together are one line. */
function matching() {
  const rows = shown.rows.filter(({ codes }) => ticked.every((some, place) => !some.size || some.has(codes[place])));
  return merged(rows, [...shown.asked.keys()], shown.answer);
}

/** Offer the categories of each attribute of the table, to choose lines. */
function choices() {
  ticked = shown ? shown.asked.map(() => new Set()) : [];
  joined = ticked.map(() => false);
  element("filtering").hidden = !shown || shown.rows.length < MANY_LINES;
  element("choices").replaceChildren(...(element("filtering").hidden ? [] : shown.asked.map((axis, place) => choice(axis, place))));
}

/** A list of the categories of an attribute with a box for each, which is made when it is opened. */
function choice(axis, place) {
  const { labels } = data.attributes[axis];
  const name = nameOf(axis);
  const made = document.createElement("details");
  const summary = document.createElement("summary");
  const search = document.createElement("input");
  const list = document.createElement("fieldset");
  const note = document.createElement("p");
  const clear = document.createElement("button");
  const legend = document.createElement("legend");
  const joining = document.createElement("label");
  const join = document.createElement("input");
  join.type = "checkbox";
  joining.append(join, `Put the chosen categories of ${name} together as one`);
  legend.className = "hidden";
  legend.textContent = `Categories of ${name}`;
  search.type = "search";
  search.placeholder = "search";
  search.autocomplete = "off";
  search.setAttribute("aria-label", `Search the categories of ${name}`);
  search.hidden = labels.length < MANY_CATEGORIES;
  note.className = "quiet";
  clear.type = "button";
  clear.textContent = "All categories";
  const told = () => {
    summary.textContent = `${name}: ${tickedIn(place)}${together().includes(place) ? ", together as one" : ""}`;
    clear.disabled = !ticked[place].size;
    join.disabled = ticked[place].size < 2;
  };
  const changed = () => {
    told();
    quote();
    table();
    chart();
    tell(`${summary.textContent}. ${linesShown()}`);
  };
  const found = () => [...labels.keys()].filter((code) => folded(labels[code]).includes(folded(search.value.trim())));
  const fill = () => {
    const codes = found();
    list.replaceChildren(legend, ...codes.slice(0, MOST_ROWS).map((code) => categoryBox(place, code, changed)));
    fade(list);
    note.textContent = !codes.length ? `No category has “${search.value}” in it.`
      : codes.length > MOST_ROWS ? `The list shows the first ${whole.format(MOST_ROWS)} of ${whole.format(codes.length)} categories: search for others.` : "";
  };
  clear.addEventListener("click", () => {
    ticked[place].clear();
    joined[place] = join.checked = false;
    // A disabled button loses the focus.
    summary.focus();
    fill();
    changed();
  });
  join.addEventListener("change", () => {
    joined[place] = join.checked;
    changed();
  });
  search.addEventListener("input", () => {
    fill();
    tell(note.textContent || `${whole.format(found().length)} of ${whole.format(labels.length)} categories of ${name} found.`);
  });
  list.addEventListener("scroll", () => fade(list));
  made.addEventListener("toggle", fill, { once: true });
  told();
  made.append(summary, search, list, note, joining, clear);
  return made;
}

/** A box with the name of a category, which chooses the lines with it. */
function categoryBox(place, code, changed) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = ticked[place].has(code);
  box.addEventListener("change", () => {
    if (box.checked) ticked[place].add(code);
    else ticked[place].delete(code);
    changed();
  });
  label.append(box, data.attributes[shown.asked[place]].labels[code]);
  return label;
}

/** A text without accents and capital letters. */
const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** The lines to show, in their order. Categories are in their declared order. */
function inOrder() {
  const sumOf = sums();
  const partOf = (row) => shareIn(row, sumOf);
  const rows = matching();
  const { column, descending } = sorted;
  if (column === null) return rows;
  const value = typeof column === "number" ? (row) => row.codes[column] : column === "share" ? partOf : (row) => row[column];
  return rows.sort((one, other) => (descending ? value(other) - value(one) : value(one) - value(other)));
}

const FIELDS = ["count", "low", "high"];

/** Write the numbers of a line of the table, with its share of a whole and the bounds of the share, which may be those of a measured table. */
function writeNumbers(line, row, all, shareBetween) {
  // A table of estimates has no column for the bounds of a percentage.
  const beside = shareBetween && !hasShareEnds() ? ` (${shareBetween.join(" to ")})` : "";
  const share = all > 0 ? `${isEstimate() && !shareBetween ? "≈ " : ""}${percent.format(row.count / all)}${beside}` : "–";
  const count = cell("td", whole.format(row.count), "number");
  // A narrow screen has the bounds and the share below the count; see the style sheet.
  const ends = hasShareEnds() ? [shareBetween?.join(" to ") ?? "–"] : [];
  [bounds(row) || "–", share, ...ends].forEach((text) => count.append(cell("span", text, "narrow")));
  line.append(count);
  [row.low, row.high].forEach((bound) => line.append(cell("td", isKnown(bound) ? whole.format(bound) : "–", "number bound")));
  line.append(cell("td", share, "share"), ...ends.map((text) => cell("td", text, "ends")));
}

/** Write the sum of the chosen lines below them, with its bounds and its share where the page can tell them. */
function sumLine(rows) {
  const foot = element("table").tFoot;
  foot.replaceChildren();
  const places = limited();
  if (!places.length || rows.length < 2) return;
  const own = places.filter((place) => within.includes(place));
  const sum = sumAt(places);
  const count = sum.ends || sum.known ? sum.count : sumOfCounts(rows);
  const [low, high] = sum.known ? boundsAround(count, 0) : sum.ends ?? [NaN, NaN];
  const made = (sum.ends || sum.known) && isEstimate() && isMeasured(sum) ? `, ${KINDS[sum.source]}` : "";
  const line = foot.insertRow();
  const name = cell("th", `Sum of the ${whole.format(rows.length)} chosen lines${made}`);
  name.scope = "row";
  name.colSpan = shown.asked.length;
  line.append(name);
  writeNumbers(line, { count, low, high }, own.length === places.length ? count : sumAt(own).count, shareEndsOfSum());
}

function table() {
  const head = element("table").tHead;
  const body = element("table").tBodies[0];
  head.replaceChildren();
  body.replaceChildren();
  element("table").tFoot.replaceChildren();
  element("caption").textContent = "";
  element("more").textContent = "";
  element("total").textContent = "";
  element("misses").textContent = "";
  element("meanings").replaceChildren();
  element("download-chosen").hidden = true;
  if (!shown) return;
  element("caption").textContent = `${countsBy(shown.asked.map(nameOf))}, with bounds of 95 %`;
  const title = head.insertRow();
  shown.asked.forEach((axis, place) => title.append(sortHead(place, nameOf(axis))));
  element("meanings").replaceChildren(...[...shown.asked.filter(isDescribed).map(toldOf), ...bands()].map((text) => cell("p", text, "quiet")));
  FIELDS.forEach((name) => title.append(sortHead(name, name, name === "count" ? "number" : "number bound")));
  title.cells[shown.asked.length].append(...narrowHeads());
  title.append(sortHead("share", shareName(), "share"));
  if (hasShareEnds()) title.append(cell("th", "bounds of %", "ends"));
  const sumOf = sums();
  const wholeOf = wholesAt(within);
  const rows = inOrder();
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    row.labels.forEach((label) => {
      const name = cell("th", label);
      name.scope = "row";
      line.append(name);
    });
    writeNumbers(line, row, sumOf(row), hasShareEnds() ? shareEnds(row, wholeOf(row)) : null);
  }
  sumLine(rows);
  const about = isEstimate() ? "Percentages of its lines are estimates, too: do not compare those of groups." : "Percentages are rounded.";
  element("total").textContent = `${adding(rows)}${difference(rows)}${leftOut()} ${about}`;
  element("misses").textContent = misses();
  const ticks = ticked.some((codes) => codes.size);
  const isPart = rows.length < shown.rows.length;
  const many = (some) => lineCount(some.length);
  element("download").textContent = isPart ? `Download all ${many(shown.rows)} of this table as CSV` : "Download this table as CSV";
  element("download-chosen").textContent = `Download the ${whole.format(rows.length)} chosen line${rows.length === 1 ? "" : "s"} as CSV`;
  element("download-chosen").hidden = !isPart || !rows.length;
  const found = together().length ? joinedLines(rows)
    : isPart ? `The table shows ${whole.format(rows.length)} of ${many(shown.rows)}: those with ${condition()}. `
      : ticks ? "All lines of the table have a ticked category. " : "";
  const first = rows.length > MOST_ROWS ? `The table shows the first ${whole.format(MOST_ROWS)} of ${many(rows)}; the download has all of them.` : "";
  element("more").textContent = `${found}${first}`.trim();
  fit();
}

/** That the limits of numbers in the table are the only ones, once for all attributes with bands. */
function bands() {
  const banded = shown.asked.filter((axis) => data.attributes[axis].banded);
  const limits = `The limits of ${listed(banded.map(nameOf))} are fixed: this page has no counts for other limits than those in the table. Bands side by side can be put together as one.`;
  return banded.length ? [limits] : [];
}

/** What the lines are if categories are together, and where their bounds cannot be told. */
function joinedLines(rows) {
  const lacking = rows.filter((row) => !isKnown(row.low)).length;
  const which = lacking === rows.length ? "these sums" : "sums without bounds";
  const [{ from, source } = {}] = rows.filter((row) => row.from !== undefined);
  const made = source in KINDS ? `They are those of ${from ? `the table ${from}` : "the number of all rows"} (${KINDS[source]}). ` : "";
  const without = `This page cannot tell the bounds of ${which}. Do not add up the bounds of their parts. `;
  return `Each line is a sum: the chosen categories of ${listed(together().map((place) => nameOf(shown.asked[place])))} are together as one`
    + ` (${condition()}). ${lacking < rows.length ? `Its bounds are those of the sum. ${made}` : ""}${lacking ? without : ""}`;
}

/** Break the lines of percentages if the table is too wide, and put them below the count, as on a narrow screen, if it still is. */
function fit() {
  const box = element("table").parentElement;
  box.classList.remove("tight", "stacked");
  for (const way of ["tight", "stacked"]) {
    if (box.scrollWidth > box.clientWidth) box.classList.add(way);
  }
  // A head that takes more room scrolls away with the lines, so that they stay in sight.
  box.classList.toggle("loose", element("table").tHead.offsetHeight > HEAD_SHARE * box.clientHeight);
  fade(box);
}

/** Show a shadow at the lower edge of a box if its content goes on below. */
function fade(box) {
  box.classList.toggle("more", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
}

/** A colour of the page, which follows the screen, light or dark, or the paper. */
const colour = (name) => `var(--${name})`;

function style() {
  const text = { labelColor: colour("ink"), titleColor: colour("ink") };
  return {
    font: "system-ui, sans-serif", background: null, view: { stroke: null }, legend: { ...text, aria: false }, mark: { aria: false },
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
  const of = (row) => {
    const value = shareIn(row, sumOf);
    const all = wholeOf(row);
    const [low, high] = shareBounds(row, all) ?? [NaN, NaN];
    return { value, low, high, text: percent.format(value), bounds: shareEnds(row, all)?.join(" to ") ?? "" };
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

/** The words of a text in lines of at most `most` letters, but at least one word. */
function wrapped(text, most) {
  const lines = [""];
  text.split(" ").forEach((word) => {
    if (lines.at(-1) && lines.at(-1).length + word.length >= most) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  });
  return lines;
}

/** The places of the attributes that have the same category in all lines: one category is chosen, or several are put together. */
const alike = () => conditioned().filter((place) => ticked[place].size === 1 || together().includes(place));

/** What all lines have in common, and what the attributes of the table say, with the units of their numbers, in lines for the title of a chart. */
function descriptions(width) {
  const own = alike().map((place) => `${nameOf(shown.asked[place])}: ${joinedName(place)}`);
  return [...own, ...shown.asked.filter(isDescribed).map(toldOf)].flatMap((text) => wrapped(text, lettersIn(2 * width)));
}

const titled = (text) => ({ text, anchor: "start", fontSize: 12, color: colour("ink") });

function bars(rows, title, width, shows) {
  const names = rows.map((row) => row.labels.join(" · "));
  const placing = placed(names, width);
  const { short, step } = placing;
  const values = rows.map((row, place) => ({
    name: short[place], full: names[place], ...shows.of(row),
  }));
  const layer = barLayers(placing, shows, width, values.every((value) => Number.isFinite(value.low)));
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
  if (values.every((value) => Number.isFinite(value.low))) {
    layer.unshift({ mark: { type: "area", color: colour("bar"), opacity: 0.6 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" } } });
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
      layer: barLayers(placing, shows, width, values.every((value) => Number.isFinite(value.low))),
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
  const most = Math.max(...values.map(({ value }) => value));
  const position = {
    x: { field: "two", type: "nominal", sort: null, title: null, axis: { labelAngle: slanted ? -40 : 0 } },
    y: { field: "one", type: "nominal", sort: null, title: null },
  };
  const layers = [{
    mark: "rect",
    encoding: { color: { field: "value", type: "quantitative", scale: { scheme: "viridis", reverse: true }, title: shows.title, legend: { ...shows.axis, orient: "bottom" } } },
  }];
  if (small) {
    const ink = { condition: { test: `datum.value > ${most / 2}`, value: "white" }, value: "#1b1f24" };
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
}

/** Draw the chosen lines of the table, and say so. */
async function chart() {
  const place = element("chart");
  element("drawn").textContent = "";
  if (!shown) { place.replaceChildren(); return; }
  const { spec, description, note } = charted(place.clientWidth);
  element("drawn").textContent = note;
  await draw(place, spec, description);
}

/** The chart of the chosen lines, what it shows in words, and a note where it does not show all lines. */
function charted(width) {
  const shows = drawing();
  const all = shown.asked.map(nameOf);
  const chosen = matching();
  const isPart = chosen.length < shown.rows.length;
  const withLabels = (row) => ({ ...row, labels: places.map((place) => row.labels[place]) });
  const start = countsBy(all, scale === "count" ? "Counts" : `Percentages of ${wholeName()}`);
  const description = `${start}${isPart ? `: the lines with ${condition()}` : ""}`;
  const note = isPart ? "The chart shows the chosen lines." : "";
  // What all lines have in common stands above the chart; see `descriptions`.
  const apart = [...all.keys()].filter((place) => !alike().includes(place));
  const places = apart.length ? apart : [...all.keys()];
  const names = places.map((place) => all[place]);
  const rows = chosen.map(withLabels);
  // The categories that have a line.
  const isDrawn = (place, code) => !ticked[place].size || ticked[place].has(code);
  const labels = places.map((place) => (apart.length ? data.attributes[shown.asked[place]].labels.filter((_, code) => isDrawn(place, code)) : [joinedName(place)]));
  const [first, second] = labels.map((own) => own.length);
  // The bounds of percentages have their place in bars.
  const isMap = names.length === 2 && first > 2 && second > 2 && second <= 60 && (scale === "count" || rows.length > MOST_BARS);
  if (isMap) return { spec: heat(rows, names, labels, width, shows), description, note };
  const text = descriptions(width);
  const title = text.length ? { title: titled(text) } : {};
  if (names.length > 1 && rows.length > 1 && rows.length <= MOST_BARS) {
    return { spec: { ...panels(rows, names, labels.at(-1), width, shows), ...title }, description, note };
  }
  if (names.length === 1 && rows.length > MOST_BARS && data.attributes[shown.asked[places[0]]].ordered) {
    return { spec: { ...line(rows, names[0], shows), ...title }, description, note };
  }
  const most = rows.map((row) => [row, shows.of(row).value]).sort(([, one], [, other]) => other - one).map(([row]) => row).slice(0, MOST_BARS);
  const some = `The chart shows the ${MOST_BARS} largest ${scale === "count" ? "counts" : "percentages"} of ${isPart ? "the chosen lines" : "the table"}.`;
  const isLarge = rows.length > MOST_BARS;
  return { spec: { ...bars(isLarge ? most : inOrder().map(withLabels), names.join(" · "), width, shows), ...title }, description, note: isLarge ? some : note };
}

const SVG = "http://www.w3.org/2000/svg";
const SAVED_WIDTH = 720;

/** Save the chart by itself, with what a reader of it must know: what it shows, how it was made, who publishes it, and the licence. */
async function saveChart() {
  const { spec, description, note } = charted(SAVED_WIDTH);
  const fixed = spec.width === "container" ? { ...spec, width: SAVED_WIDTH } : spec;
  const drawn = await new vega.View(compiled(fixed, description), { renderer: "none" }).toSVG();
  const inner = new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement;
  const made = document.createElementNS(SVG, "svg");
  let y = 12;
  const write = (text, size, weight = "normal") => wrapped(text, SAVED_WIDTH / (0.56 * size)).forEach((words) => {
    const line = document.createElementNS(SVG, "text");
    const look = { x: 12, y: y += 1.4 * size, "font-size": size, "font-weight": weight, "font-family": "system-ui, sans-serif", fill: colour("ink") };
    Object.entries(look).forEach(([name, value]) => line.setAttribute(name, value));
    line.textContent = words;
    made.append(line);
  });
  write(data.title, 17, "bold");
  [description, note].filter((text) => text).forEach((text) => write(text, 13));
  inner.setAttribute("x", 12);
  inner.setAttribute("y", y += 14);
  y += Number(inner.getAttribute("height"));
  made.append(inner);
  const { Licence: licence, "How to cite": cite } = data.imprint;
  const below = [data.private ? "" : "This is a simulation and not private.", data.sources[shown.source], data.unsaid, `Source: ${cite}`, licence && `Licence: ${licence}`];
  below.filter((text) => text).forEach((text) => write(text, 11));
  const width = Math.max(SAVED_WIDTH, Number(inner.getAttribute("width"))) + 24;
  const paper = document.createElementNS(SVG, "rect");
  Object.entries({ width: "100%", height: "100%", fill: colour("paper") }).forEach(([name, value]) => paper.setAttribute(name, value));
  made.prepend(paper);
  Object.entries({ width, height: y + 12, viewBox: `0 0 ${width} ${y + 12}` }).forEach(([name, value]) => made.setAttribute(name, value));
  save(inPrint(new XMLSerializer().serializeToString(made)), [...shown.asked.map(columnOf), scale === "count" ? "chart" : "percentages"], "svg", "the chart");
}

/** A text with the colours of paper, which is white, whatever colours the screen has: those of the first rule of the style sheet. */
function inPrint(text) {
  const { style: light } = document.styleSheets[0].cssRules[0];
  return text.replace(/var\((--[a-z-]+)\)/g, (_, name) => light.getPropertyValue(name).trim());
}

/** The beginnings of texts that spreadsheets run as formulae: see `for_spreadsheet` in the Python source. */
const FORMULA = /^ *[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** A text as a field of CSV that no spreadsheet runs. */
function quoted(name) {
  const text = FORMULA.test(name) ? `'${name}` : name;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The types of the files that a reader can save, by their endings. */
const TYPES = { csv: "text/csv", svg: "image/svg+xml", txt: "text/plain" };

/** Hand a text file to the reader, and say what it holds. */
function save(text, name, ending, holds) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: TYPES[ending] }));
  link.download = `${[data.title, ...name].map((part) => part.replace(/[^\p{L}\p{N}-]+/gu, "_")).join("-")}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  tell(`Saved ${holds} as ${link.download}`);
}

/** Lines of a file that spreadsheets open with the right letters: that is what the mark at its start is for. */
const csv = (lines) => `\ufeff${lines.map((line) => line.join(",")).join("\n")}\n`;

/** The numbers of a line as the table shows them. */
const numbers = (row) => FIELDS.map((name) => (isKnown(row[name]) ? whole.format(row[name]).replaceAll(",", "") : ""));
/** Without a decimal point, which some spreadsheets read as a mark of thousands. */
const LEVEL_TEXT = `${100 * LEVEL}%`;

/** The head of a column of a download, which no attribute has. */
const free = (name) => (data.attributes.some((attribute) => attribute.name === name) ? free(`${name}_`) : name);

const SHARE_FIELDS = ["per_1000", "per_1000_low", "per_1000_high", "per_1000_of"];

/** For each line its percentage and the bounds as the table shows them, and what it is of. They are per 1,000 rows: whole numbers. */
function shareColumns() {
  const sumOf = sums();
  const wholeOf = wholesAt(within);
  const of = quoted(wholeName());
  return (row) => {
    const texts = [percent.format(shareIn(row, sumOf)), ...(shareEnds(row, wholeOf(row)) ?? ["", ""])];
    return [...texts.map((text) => text && Number(text.replace(/[.,%]/g, ""))), of];
  };
}

/** Save some lines of the table. */
function download(rows, more = []) {
  const names = shown.asked.map(columnOf);
  const shares = hasShareEnds() ? shareColumns() : () => [];
  const lines = rows.map((row) => [...(row.full ?? row.labels).map(quoted), ...numbers(row), ...shares(row), LEVEL_TEXT, row.source ?? shown.source]);
  const head = [...names, ...[...FIELDS, ...(hasShareEnds() ? SHARE_FIELDS : []), "level", "source"].map(free)];
  save(csv([head.map(quoted), ...lines]), [...names, ...more], "csv", lineCount(rows.length));
}

/** The sets of `size` of some axes. */
function subsets(axes, size) {
  if (size === 0) return [[]];
  return axes.flatMap((axis, place) => subsets(axes.slice(place + 1), size - 1).map((others) => [axis, ...others]));
}

/** The tables that the page can show, small ones first, as many as fit into one file; and whether these are all. */
function allTables() {
  const views = data.views.filter((view) => view.counts).map((view) => [...view.axes].sort((one, other) => one - other));
  const found = [];
  let lines = 0;
  for (let size = 1; size <= data.most; size += 1) {
    const own = data.answers.map((answer) => answer.axes).filter((axes) => axes.length === size);
    const parts = views.flatMap((axes) => subsets(axes, size));
    for (const axes of new Map([...parts, ...own].map((some) => [key(some), some])).values()) {
      lines += product(axes.map((axis) => sizes[axis]));
      if (lines > MOST_LINES) return { tables: found, all: false };
      found.push(axes);
    }
  }
  return { tables: found, all: true };
}

/** Say what the file of all tables holds. */
function held() {
  const { tables, all } = allTables();
  element("opening").textContent = data.opening;
  if (!tables.length) return;
  element("held").textContent = all
    ? `The file of all tables holds ${whole.format(tables.length)} table${tables.length === 1 ? "" : "s"}.`
    : `The file of all tables holds the ${whole.format(tables.length)} tables with the fewest attributes. It has no room for larger ones: download these one by one.`;
}

/** All tables of the page in one file: a column for each attribute, empty where a table does not have it. */
function downloadAll() {
  const heads = ["table", "source"].map(free);
  const lines = [[...heads, ...data.attributes.map((_, axis) => columnOf(axis)), ...[...FIELDS, "level"].map(free)].map(quoted)];
  for (const axes of allTables().tables) {
    const answer = onPage(axes);
    const name = quoted(axes.map(columnOf).join(" × "));
    for (const row of records(axes, answer)) {
      const labels = new Array(data.attributes.length).fill("");
      axes.forEach((axis, place) => { labels[axis] = quoted(row.labels[place]); });
      lines.push([name, answer.source, ...labels, ...numbers(row), LEVEL_TEXT]);
    }
  }
  save(csv(lines), ["all"], "csv", lineCount(lines.length - 1));
}

/** What the attributes say, as lines of a text. A level says what its attribute does. */
function meanings() {
  const axes = [...data.attributes.keys()].filter((axis) => isDescribed(axis) && attributeOf(axis) === axis);
  return axes.length ? ["What the attributes are", ...axes.map((axis) => `  ${toldOf(axis)}`), ""] : [];
}

/** How the tables were made that this page can show, in words. */
function usedSources() {
  const used = new Set([...data.answers.map((answer) => answer.source), ...allTables().tables.map((axes) => onPage(axes).source)]);
  return Object.entries(data.sources).filter(([name]) => data.live || used.has(name));
}

/** What a reader of the downloads must know, as text. */
function downloadMeaning() {
  const lines = [
    data.title, element("facts").textContent, data.unsaid, "",
    ...Object.entries(data.imprint).map(([head, text]) => `${head}: ${text}`), "",
    "How to open the tables", data.opening, "",
    "Columns of the tables",
    `${free("count")}: the number of rows with the categories in the line, with noise, rounded to a whole number.`,
    `${free("low")}, ${free("high")}: the bounds of the true number, rounded outwards to whole numbers. Empty where the error is not known.`,
    `${free("per_1000")}: only in the file of one measured table: the percentage that the page shows, with its bounds, per 1,000 rows (331 is 33.1 %).`,
    `  ${free("per_1000_of")} says which rows these are of. Percentages of other tables are estimates or have no bounds, so their files lack these columns.`,
    `${free("level")}: the probability that the bounds are for, as told for each source.`,
    `${free("source")}: how the table was made:`,
    ...usedSources().map(([name, words]) => `  ${name}: ${words}`),
    `${free("table")}: only in the file of all tables: the attributes of the table that a line is of. One table after another stands in this file,`,
    "  so never add up lines of different tables: choose the lines of one table first.",
    "A column of an attribute is empty in the file of all tables if the table of the line does not have this attribute: all its categories are counted together.", "",
    ...meanings(),
    ...belonging(columnOf).flatMap(({ head, nodes }) => [head, ...nodes.map(([node, lower]) => `  ${node}: ${lower}`), ""]),
    "How people are protected", ...data.words, `For experts: ${data.guarantee}.`,
  ];
  save(`${lines.join("\n")}\n`, ["columns"], "txt", "what the columns mean");
}

/** What stands beside the name of an attribute: its number of categories, or that it was not measured. */
function sizeOf(axis) {
  if (data.not_measured.includes(columnOf(attributeOf(axis)))) return "not measured";
  return sizes[axis] === 1 ? "1 category" : `${sizes[axis]} categories`;
}

/** The categories of an attribute with a text in them, first those that begin with it. */
function categoriesWith(wanted, axis) {
  const found = data.attributes[axis].labels.filter((label) => folded(label).includes(wanted));
  const [first, others] = [true, false].map((begins) => found.filter((label) => folded(label).startsWith(wanted) === begins));
  return [...first, ...others];
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
    size.textContent = sizeOf(axis);
    label.append(box, nameOf(axis), size);
    // A level says what its attribute does.
    if (isDescribed(axis) && attribute.level_of === null) label.append(cell("span", attribute.description, "described"));
    if (attribute.level_of !== null) label.className = "level";
    return box;
  });
  // The levels of an attribute stand below it.
  const order = boxes.map((_, axis) => axis).sort((one, other) => attributeOf(one) - attributeOf(other));
  order.forEach((axis) => fields.append(boxes[axis].parentElement));
  element("levels").hidden = attributes.length === data.attributes.length;
  fade(fields);
  // Show one attribute at the start.
  boxes[0].checked = true;
  selected = [0];
  element("search").addEventListener("input", (event) => {
    const wanted = folded(event.target.value.trim());
    boxes.forEach((box, axis) => {
      const { name, description } = data.attributes[axis];
      const isNamed = [name, description ?? ""].some((text) => folded(text).includes(wanted));
      const found = isNamed ? [] : categoriesWith(wanted, axis);
      const label = box.parentElement;
      label.hidden = !isNamed && !found.length;
      label.style.display = label.hidden ? "none" : "";
      // Say which categories were found.
      const more = found.length > MOST_FOUND ? ` and ${found.length - MOST_FOUND} more` : "";
      const size = label.querySelector(".size");
      size.classList.toggle("found", found.length > 0);
      size.textContent = found.length ? `${found.slice(0, MOST_FOUND).map((one) => `“${one}”`).join(", ")}${more}` : sizeOf(axis);
    });
    const none = boxes.every((box) => box.parentElement.hidden);
    fade(element("attributes"));
    element("unfound").textContent = none ? `No attribute has “${event.target.value}” in its name, its meaning or its categories.` : "";
    tell(element("unfound").textContent || `${boxes.filter((box) => !box.parentElement.hidden).length} of ${boxes.length} attributes found.`);
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

async function pictures() {
  element("views-section").hidden = !data.views.length;
  if (data.views.length) {
    const shares = data.views.map((view) => view.share);
    const shared = shares.every((share) => share !== null);
    const equal = shared && Math.max(...shares) - Math.min(...shares) < 1e-6;
    const single = data.views.length === 1;
    const own = data.views[0].axes.length;
    const of = own === attributes.length ? `all ${own} attributes` : `${own} attribute${own === 1 ? "" : "s"}`;
    const start = single ? `One table of ${of} was measured` : `${data.views.length} tables of a few attributes each were measured`;
    const measured = `${start}: noise was added to each of ${single ? "its" : "their"} counts.`;
    element("views-chart").hidden = single;
    element("views-text").textContent = !shared
      ? `${start}. Noise was added to sums and differences of ${single ? "its" : "their"} true counts, and the published counts were computed from these noisy numbers.`
      : single ? measured : equal ? `${measured} Each got the same share of the budget.`
        : `${measured} The colour shows each table's share of the budget: a larger share means less noise.`;
    if (data.not_measured.length) {
      element("views-text").textContent += ` Not measured: ${listed(data.not_measured)}. The categories of what was not measured are taken to be equally frequent.`;
    }
    if (data.summary.negative) {
      element("views-text").textContent += ` Note: ${data.summary.negative}.`;
    }
    element("views-listed").hidden = single && own === attributes.length;
    element("views-listed").querySelector("ol").replaceChildren(...data.views.map((view) => {
      const share = shared && !equal ? ` (${percent.format(view.share)} of the budget)` : "";
      return cell("li", `${view.axes.map(nameOf).join(" × ")}${share}`);
    }));
    const values = data.views.flatMap((view, place) => view.axes.map((axis) => ({
      table: place + 1, attribute: nameOf(axis), share: view.share,
    })));
    if (!single) await draw(element("views-chart"), {
      width: "container", height: 18 * new Set(values.map((value) => value.attribute)).size, data: { values }, mark: { type: "rect", stroke: colour("paper") },
      encoding: {
        x: { field: "table", type: "ordinal", title: "measured table", axis: { labelOverlap: true, labelAngle: 0 } },
        y: { field: "attribute", type: "nominal", sort: names, title: null },
        color: shared && !equal
          ? { field: "share", type: "quantitative", title: "share of the budget", scale: { scheme: "blues", domain: [0, Math.max(...values.map((value) => value.share))] }, legend: { format: ".1%", orient: "bottom" } }
          : { value: colour("bar") },
        tooltip: [{ field: "table" }, { field: "attribute" }, ...(shared ? [{ field: "share", format: ".2%" }] : [])],
      },
    }, "The attributes of each measured table; the list below the chart has them as text");
  }
}

/** Half the width of bounds as text. */
const plusMinus = (half) => `± ${whole.format(Math.ceil(half - ROUNDING))}`;

/** The middle one of some numbers in ascending order. */
const middleOf = (numbers) => numbers[Math.floor((numbers.length - 1) / 2)];

/** How wide the bounds are beside the counts, in a line for each number of attributes and each source. */
function typical() {
  const groups = new Map();
  let isBelowZero = false;
  for (const axes of allTables().tables) {
    const { counts, halfWidths, source } = onPage(axes);
    isBelowZero ||= counts.some((count) => count < -ROUNDING);
    if (!(source in KINDS)) continue;
    const name = `${axes.length} attribute${axes.length === 1 ? "" : "s"}, ${KINDS[source]}`;
    if (!groups.has(name)) groups.set(name, { tables: 0, halves: [], counts: [] });
    const group = groups.get(name);
    group.tables += 1;
    halfWidths.forEach((half, cell) => {
      if (!(half > 0 && half < Infinity)) return;
      group.halves.push(half);
      group.counts.push(counts[cell]);
    });
  }
  for (const [name, { tables, ...numbers }] of groups) {
    if (!numbers.halves.length) continue;
    const [halves, counts] = [numbers.halves, numbers.counts].map((some) => Float64Array.from(some).sort());
    const [least, middle, greatest] = [halves[0], middleOf(halves), halves.at(-1)].map(plusMinus);
    const all = least === greatest ? "" : ` (${least} to ${greatest})`;
    const line = `${name} (${tables} table${tables === 1 ? "" : "s"}): ${middle} rows${all}, beside a typical count of ${whole.format(middleOf(counts))}`;
    element("errors").append(cell("li", line));
  }
  element("below-zero").hidden = !isBelowZero;
  element("errors-section").hidden = !element("errors").children.length;
}

/** Milliseconds for which a button says that it copied. */
const COPIED_FOR = 4000;

/** A button that copies how to cite the page. */
function citing() {
  const text = element("imprint").lastElementChild;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(data.imprint["How to cite"]);
    button.textContent = "Copied";
    tell("Copied how to cite this page.");
    setTimeout(() => { button.textContent = "Copy"; }, COPIED_FOR);
  });
  if (navigator.clipboard) text.append(" ", button);
}

element("columns").hidden = false;
typical();
citing();
picker();
element("download").addEventListener("click", () => download(shown.rows));
element("download-chosen").addEventListener("click", () => download(matching(), ["chosen"]));
element("save-chart").addEventListener("click", saveChart);
element("scale").addEventListener("change", (event) => {
  scale = event.target.value;
  chart();
  tell(`The chart shows ${event.target.selectedOptions[0].textContent}.`);
});
element("download-all").hidden = !data.views.some((view) => view.counts) && !data.answers.length;
element("download-all").addEventListener("click", downloadAll);
element("download-meaning").addEventListener("click", downloadMeaning);
element("whole").addEventListener("change", (event) => {
  within = event.target.value === "" ? [] : event.target.value.split(",").map(Number);
  // Whoever chooses what percentages are of wants to see them.
  if (hasShareEnds()) scale = "share";
  table();
  quote();
  scales();
  chart();
  tell(`Percentages of ${wholeName()}. ${linesShown()}`);
});
[element("table").parentElement, element("attributes")].forEach((box) => box.addEventListener("scroll", () => fade(box)));
addEventListener("resize", () => {
  fit();
  fade(element("attributes"));
});
// Paper has no button that opens what is closed.
const printed = ["quote", "views-listed"].map(element);
let opened = [];
addEventListener("beforeprint", () => {
  opened = printed.map((part) => part.open);
  printed.forEach((part) => { part.open = true; });
});
addEventListener("afterprint", () => printed.forEach((part, place) => { part.open = opened[place]; }));
groups();
held();
show();
pictures();
