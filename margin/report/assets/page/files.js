// What a reader can save.

const SVG = "http://www.w3.org/2000/svg";
const SAVED_WIDTH = 720;

/** The number of dots of a PNG picture, along each side, for a point of the SVG picture. */
const DOTS = 2;

/** The chart by itself as the text of an SVG picture, with what a reader of it must know: what it shows, how it was made, who publishes it, and the licence. */
async function picture() {
  const { spec, description, note, legend } = charted(SAVED_WIDTH);
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
  const sources = new Set(matching().map((row) => row.source ?? shown.source));
  const below = [legend, data.private ? "" : "This is a simulation and not private.", ...[...sources].map((source) => data.sources[source]), data.left_out, data.unsaid, data.covered, `Source: ${cite}`, licence && `Licence: ${licence}`];
  below.filter((text) => text).forEach((text) => write(text, 11));
  const width = Math.max(SAVED_WIDTH, Number(inner.getAttribute("width"))) + 24;
  const paper = document.createElementNS(SVG, "rect");
  Object.entries({ width: "100%", height: "100%", fill: colour("paper") }).forEach(([name, value]) => paper.setAttribute(name, value));
  const title = document.createElementNS(SVG, "title");
  title.textContent = `${data.title}: ${description}`;
  // Its name stands for it, as on the page.
  made.setAttribute("role", "img");
  made.prepend(title, paper);
  Object.entries({ width, height: y + 12, viewBox: `0 0 ${width} ${y + 12}` }).forEach(([name, value]) => made.setAttribute(name, value));
  return { text: inPrint(new XMLSerializer().serializeToString(made)), width, height: y + 12 };
}

/** Save the chart as an SVG picture, or as a PNG picture for programs that take no other. */
async function saveChart(ending) {
  const { text, width, height } = await picture();
  const name = [...shown.asked.map(columnOf), scale === "count" ? "chart" : "percentages"];
  if (ending === "svg") { save(text, name, "svg", "the chart"); return; }
  const image = new Image();
  image.src = `data:${TYPES.svg};charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [DOTS * width, DOTS * height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((content) => save(content, name, "png", "the chart"), TYPES.png);
}

/** Print the table by itself, with its title, its notes, its chart and the source. */
function printTable() {
  document.body.classList.add("only-table");
  print();
  document.body.classList.remove("only-table");
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
const TYPES = { csv: "text/csv", png: "image/png", svg: "image/svg+xml", txt: "text/plain" };

/** Hand a file to the reader, and say what it holds. */
function save(content, name, ending, holds) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: TYPES[ending] }));
  link.download = `${[data.title, ...name].map((part) => part.replace(/[^\p{L}\p{N}-]+/gu, "_")).join("-")}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  tell(`Saved ${holds} as ${link.download}`);
}

/** Lines of a file that spreadsheets open with the right letters: that is what the mark at its start is for. */
const csv = (lines) => `\ufeff${lines.map((line) => line.join(",")).join("\n")}\n`;

/** The numbers of a line as the table shows them. */
const numbers = (row) => FIELDS.map((name) => (isKnown(row[name]) ? whole.format(row[name]).replaceAll(",", "") : ""));

/** How sure bounds are, by the way in which the table was made. Without a decimal point, which some spreadsheets read as a mark of thousands. */
const CONFIDENCE = { known: "exact", measured: "95%", based: "95% on average", reconstructed: "95% on average", answered: "95% of noise" };

/** How sure the bounds of a line are, and how its table was made. */
const made = (row, source) => [isKnown(row.low) ? CONFIDENCE[source] ?? "not known" : "", source];

/** The heads of these two columns. */
const MADE_FIELDS = ["confidence", "how_made"];

/** The head of a column of a download, which no attribute has. */
const free = (name) => (data.attributes.some((attribute) => attribute.name === name) ? free(`${name}_`) : name);

const SHARE_FIELDS = ["per_1000", "per_1000_low", "per_1000_high", "per_1000_of"];

/** A percentage and its bounds as the table shows them, and what it is of. They are per 1,000 rows: whole numbers, since a spreadsheet may take 16.9 for a date. */
function perThousand({ share, ends, of }) {
  const texts = [share === null ? "" : percent.format(share), ...(ends ?? ["", ""])];
  return [...texts.map((text) => text && tenths(text)), quoted(of || wholeName())];
}

/** The fields of a line of a download. */
const fields = (labels, row, percentage) => [...labels.map(quoted), ...numbers(row), ...percentage, ...made(row, row.source ?? shown.source)];

/** The largest number of letters of a name of a file that say which lines are in it. */
const MOST_NAMED = 60;

/** Save some lines of the table, in which chosen categories are one at the places in `joint`, and below them the number of rows in all of them, if it is given.
 *
 * `chosen` says which lines they are, if they are not all; then it is in the name of the file and in its last column. */
function download(rows, joint, sum = null, chosen = "") {
  const names = shown.asked.map(columnOf);
  const has = hasShareEnds();
  const percentageOf = shares(joint);
  const lines = rows.map((row) => fields(row.full ?? fileLabels(shown.asked, row.codes), row, has ? perThousand(percentageOf(row)) : []));
  if (sum) {
    const labels = names.map((_, place) => (place ? "" : `${sum.name}${sum.note}`));
    lines.push(fields(labels, sum, has ? perThousand({ share: shareOfNumber(sum.count, sum.all), ends: sum.shareEnds, of: sum.of }) : []));
  }
  const head = [...names, ...[...FIELDS, ...(has ? SHARE_FIELDS : []), ...MADE_FIELDS, ...(chosen ? ["chosen"] : [])].map(free)];
  if (chosen) lines.forEach((line) => line.push(quoted(chosen)));
  const more = chosen ? ["chosen", ...shortened([chosen], MOST_NAMED)] : [];
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
  const lines = [[free("table"), ...data.attributes.map((_, axis) => columnOf(axis)), ...[...FIELDS, ...MADE_FIELDS].map(free)].map(quoted)];
  for (const axes of allTables().tables) {
    const answer = onPage(axes);
    const name = quoted(tableName(axes));
    for (const row of records(axes, answer)) {
      const labels = new Array(data.attributes.length).fill("");
      fileLabels(axes, row.codes).forEach((label, place) => { labels[axes[place]] = quoted(label); });
      lines.push([name, ...labels, ...numbers(row), ...made(row, answer.source)]);
    }
  }
  save(csv(lines), ["all"], "csv", lineCount(lines.length - 1));
}

/** The name of a table in the file of all tables: its columns in the order in which the page lists them. */
const tableName = (axes) => [...axes].sort((one, other) => attributeOf(one) - attributeOf(other)).map(columnOf).join(" × ");

/** An example of such a name: a table with a level, if there is one; empty if no table has several attributes. */
function exampleTable() {
  const several = allTables().tables.filter((axes) => axes.length > 1);
  const example = several.find((axes) => axes.some((axis) => attributeOf(axis) !== axis)) ?? several[0];
  return example ? `, in the order of the list on the page and with a × between them, such as “${tableName(example)}”` : "";
}

/** What the attributes and their levels say, by the names of their columns, as lines of a text. A level says what its attribute does. */
function meanings() {
  const told = (axis) => (attributeOf(axis) === axis ? data.attributes[axis].description : `${nameOf(axis)}, a level of ${nameOf(attributeOf(axis))}`);
  const axes = [...data.attributes.keys()].filter((axis) => isDescribed(axis) || attributeOf(axis) !== axis);
  const hasLevels = attributes.length < data.attributes.length;
  const at = hasLevels ? ["  An @ stands between the name of an attribute and that of one of its levels."] : [];
  return axes.length ? ["What the attributes are", ...at, ...axes.map((axis) => `  ${columnOf(axis)}: ${told(axis)}`), ""] : [];
}

/** The name of an axis for readers of files, with that of its column if this is another one. */
const nameInFiles = (axis) => (nameOf(axis) === columnOf(axis) ? nameOf(axis) : `${nameOf(axis)} (column ${columnOf(axis)})`);

/** How the tables were made that this page can show, in words. */
function usedSources() {
  const used = new Set([...data.answers.map((answer) => answer.source), ...allTables().tables.map((axes) => onPage(axes).source)]);
  return Object.entries(data.sources).filter(([name]) => data.live || used.has(name));
}

/** How to compute with the numbers of the tables that the page can show, as lines of a text: what “How to quote a number” says on the page. */
function rules() {
  const used = usedSources().map(([name]) => name);
  const ofMeasured = [`${OVERLAP} ${APART_ENOUGH}`, data.adding, `In measured tables: ${BY_HAND}`];
  const ofEstimates = `${notCompared("a reconstructed table")} Do not add up bounds of its lines either.`;
  const own = [
    data.by_unit,
    ...(used.includes("measured") ? ofMeasured : []),
    used.includes("reconstructed") ? ofEstimates : "",
  ].filter((text) => text);
  return own.length ? ["How to compute with these numbers", ...own.map((text) => `  ${text}`), ""] : [];
}

/** What a reader of the downloads must know, as text. */
function downloadMeaning() {
  const lines = [
    data.title, element("facts").textContent, data.unsaid, element("all-rows").textContent, data.covered, element("blanks").textContent.replace(/\s+/g, " "), "",
    ...Object.entries(data.imprint).map(([head, text]) => `${head}: ${text}`), "",
    "How to open the tables", data.opening, "",
    "Columns of the tables",
    `${free("count")}: the number of ${data.row_name} with the categories in the line, with noise, rounded to a whole number.`,
    `  The lines of one table may add up to another number than those of another table, or than the number of ${allRows()}: each count is rounded by itself, and a table`,
    "  that was not measured may be an estimate of its own.",
    `${free("low")}, ${free("high")}: the bounds of the true number, rounded outwards to whole numbers. Empty where the error is not known.`,
    `${free("per_1000")}, ${free("per_1000_low")}, ${free("per_1000_high")}: the percentage of the line and its bounds, times 10: 331 stands for 33.1 %. They are whole numbers`,
    "  because some spreadsheets take a number such as 16.9 for a date.",
    `  Only the file of one measured table has them. ${free("per_1000_of")} says which ${data.row_name} they are of. Of 0 ${data.row_name}, there is no percentage: it is empty.`,
    "A file of all lines has each category by itself, with its own percentage, even if the page shows some of them together as one.",
    `A file of chosen lines ends with the number of ${data.row_name} in all of them, if that is in the table, too: its first column says so. Do not add it to the others.`,
    `  Its last column, ${free("chosen")}, says which lines were chosen, and so does its name as far as there is room.`,
    ...(data.left_out ? [data.left_out] : []),
    `${free("confidence")}: how sure the bounds are. 95%: with a probability of about 95 %, the true number lies between them. 95% on average: so many do over many tables,`,
    "  but in one table many may lie outside. 95% of noise: as far as noise goes. not known: they may be far off. exact: a public number. Empty without bounds.",
    `${free("how_made")}: how the table was made (not whom to cite):`,
    ...usedSources().map(([name, words]) => `  ${name}: ${words}`),
    `${free("table")}: only in the file of all tables: the attributes of the table that a line is of${exampleTable()}. One table after another stands in this file,`,
    "  so never add up lines of different tables: choose the lines of one table first.",
    "A column of an attribute is empty in the file of all tables if the table of the line does not have this attribute: all its categories are counted together.", "",
    ...rules(),
    ...meanings(),
    ...[unexplained([...data.attributes.keys()])].filter((text) => text).flatMap((text) => [text, ""]),
    ...belonging(nameInFiles).flatMap(({ head, nodes }) => [head, ...nodes.map(([node, lower]) => `  ${node}: ${lower}`), ""]),
    "How people are protected", ...data.words, `For experts: ${data.guarantee}.`,
  ];
  save(`${lines.join("\n")}\n`, ["columns"], "txt", "what the columns mean");
}
