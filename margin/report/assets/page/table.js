// The table of counts, and what it can be sorted by.

/** A head with a button that sorts by its column. */
function sortHead(column, name, style) {
  const head = cell("th", "", style);
  const button = sortButton(column, name);
  // Print shows this text in place of the button.
  head.dataset.head = button.textContent;
  head.append(button);
  return head;
}

/** Mark the head that lines are sorted by for readers who do not see it: the one that shows its button. A narrow screen has some in the head of the count. */
function markSorted() {
  element("table").tHead.querySelectorAll("th").forEach((head) => {
    const isSorted = [...head.querySelectorAll(".active")].some((button) => button.offsetParent !== null);
    if (isSorted) head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

/** A button that sorts by a column: numbers from the largest one, categories from the first one; then the reverse; then not at all. */
function sortButton(column, name = column) {
  const button = document.createElement("button");
  const active = sorted.column === column;
  const descends = typeof column === "string";
  button.type = "button";
  button.className = active ? "sort active" : "sort";
  button.textContent = `${name}${active ? (sorted.descending ? " ↓" : " ↑") : ""}`;
  button.title = `sort by ${name}`;
  button.addEventListener("click", () => {
    if (!active) sorted = { column, descending: descends };
    else if (sorted.descending === descends) sorted = { column, descending: !descends };
    else sorted = { column: null, descending: true };
    table();
    chart();
    remember();
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

/** Offer what percentages are of: of all counted rows, or of the rows with the same categories of some of the attributes, and choose one. */
function wholes(chosen) {
  const select = element("whole");
  const many = shown ? shown.asked.length : 0;
  element("within").hidden = many < 2;
  within = [];
  select.replaceChildren(new Option(allRows(), ""));
  if (many < 2) return;
  const places = [...shown.asked.keys()];
  const some = places.slice(1).flatMap((size) => subsets(places, size));
  some.forEach((own) => select.append(new Option(`each ${namesAt(own)}`, own.join(","))));
  const isOffered = [...select.options].some((option) => option.value === chosen);
  select.value = isOffered ? chosen : "";
  within = chosenWhole();
}

/** The places of the attributes in which percentages are, as the list says. */
const chosenWhole = () => element("whole").value.split(",").filter((text) => text).map(Number);

/** What the bounds of a table are, for its caption: no more than the box above the table says. */
const BOUNDED = {
  known: "public and without noise",
  measured: "with bounds of 95 %",
  based: "with bounds that hold for 95 % of such numbers on average",
  reconstructed: "estimated, with bounds that hold for 95 % of such numbers on average, though many of this table may miss",
  answered: "with bounds of 95 % as far as noise goes",
};

const FIELDS = ["count", "low", "high"];

/** Write the numbers of a line of the table, with its share and the bounds of it, which may be those of a measured table. */
function writeNumbers(line, row, part, shareBetween) {
  // A table of estimates has no column for the bounds of a percentage.
  const beside = shareBetween && !hasShareEnds() ? ` (${shareBetween.join(" to ")})` : "";
  const about = part !== null && isEstimate() && !shareBetween ? "≈ " : "";
  const share = `${about}${percentOf(part)}${beside}`;
  const count = cell("td", whole.format(row.count), mayBeNobody(row) ? "number nobody" : "number");
  // A narrow screen has the bounds and the share below the count; see the style sheet.
  const ends = hasShareEnds() ? [shareBetween?.join(" to ") ?? "–"] : [];
  [bounds(row) || "–", share, ...ends].forEach((text) => count.append(cell("span", text, "narrow")));
  line.append(count);
  [row.low, row.high].forEach((bound) => line.append(cell("td", isKnown(bound) ? whole.format(bound) : "–", "number bound")));
  line.append(cell("td", share, "share"), ...ends.map((text) => cell("td", text, "ends")));
}

/** Write the number of rows in the chosen lines below them, with its bounds and its share where the page can tell them. */
function sumLine(rows) {
  const foot = element("table").tFoot;
  foot.replaceChildren();
  const sum = chosenTogether(rows);
  if (!sum) return;
  const line = foot.insertRow();
  const name = cell("th", `${sum.name}${sum.note}${sum.of && `; its percentage is of ${sum.of}`}`);
  name.scope = "row";
  name.colSpan = shown.asked.length;
  line.append(name);
  writeNumbers(line, sum, shareOfNumber(sum.count, sum.all), sum.shareEnds);
}

/** The class of a cell whose words may break on a narrow screen, because one of them is very long. */
const breaking = (text) => (text.split(/\s/).some((word) => word.length > LONG_WORD) ? "long" : "");

function table() {
  const head = element("table").tHead;
  const body = element("table").tBodies[0];
  head.replaceChildren();
  body.replaceChildren();
  element("table").tFoot.replaceChildren();
  element("caption").textContent = "";
  element("more").textContent = "";
  element("total").textContent = "";
  element("differences").textContent = "";
  element("misses").textContent = "";
  element("printing").textContent = "";
  element("small").textContent = "";
  element("meanings").replaceChildren();
  element("download-chosen").hidden = true;
  if (!shown) return;
  element("caption").textContent = `${countsBy(shown.asked.map(nameOf))}, ${BOUNDED[shown.source] ?? "with bounds that may be far off"}`;
  const title = head.insertRow();
  shown.asked.forEach((axis, place) => title.append(sortHead(place, nameOf(axis), breaking(nameOf(axis)))));
  element("meanings").replaceChildren(...[...shown.asked.filter(isDescribed).map(toldOf), unexplained(shown.asked), ...bands()].filter((text) => text).map((text) => cell("p", text, "quiet")));
  FIELDS.forEach((name) => title.append(sortHead(name, name, name === "count" ? "number" : "number bound")));
  title.cells[shown.asked.length].append(...narrowHeads());
  title.append(sortHead("share", shareName(), "share"));
  if (hasShareEnds()) title.append(cell("th", "bounds of %", "ends"));
  const percentageOf = shares();
  const rows = inOrder();
  let hasDashes = false;
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    row.labels.forEach((label, place) => {
      const name = cell("th", label, breaking(label));
      name.scope = "row";
      name.dataset.of = nameOf(shown.asked[place]);
      line.append(name);
    });
    const { share, ends } = percentageOf(row);
    hasDashes ||= share === null;
    writeNumbers(line, row, share, ends);
  }
  sumLine(rows);
  const about = isEstimate() ? "Percentages with ≈ are estimates: do not compare those of groups." : "Percentages are rounded.";
  const dashes = hasDashes ? ` Of 0 ${data.row_name}, there is no percentage (–).` : "";
  element("total").textContent = `${adding(rows)}${leftOut()} ${about}${dashes}`;
  element("differences").textContent = differences(rows);
  element("misses").textContent = misses();
  element("printing").textContent = printing();
  element("small").textContent = rows.some(mayBeNobody) ? `* ${nobody()}` : "";
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
  element("more").textContent = `${found}${hiddenLines(rows)}${first}`.trim();
  fit();
}

/** Break the lines of percentages if the table is too wide, and put them below the count, as on a narrow screen, if it still is. A narrow screen then
 * puts the categories of a line below each other. */
function fit() {
  const box = element("table").parentElement;
  box.classList.remove("tight", "stacked");
  for (const way of ["tight", "stacked"]) {
    if (box.scrollWidth > box.clientWidth) box.classList.add(way);
  }
  markSorted();
  // A head that takes more room scrolls away with the lines, so that they stay in sight.
  box.classList.toggle("loose", element("table").tHead.offsetHeight > HEAD_SHARE * box.clientHeight);
  fade(box);
}
