// The sections below the table: what was measured, how much noise to expect, how to cite.

async function pictures() {
  element("views-section").hidden = !data.views.length;
  if (data.views.length) {
    const shares = data.views.map((view) => view.share);
    const shared = shares.every((share) => share !== null);
    const equal = shared && Math.max(...shares) - Math.min(...shares) < 1e-6;
    const single = data.views.length === 1;
    const size = data.views[0].axes.length;
    const of = size === attributes.length ? `all ${size} attributes` : `${size} attribute${size === 1 ? "" : "s"}`;
    const start = single ? `One table of ${of} was measured` : `${data.views.length} tables of a few attributes each were measured`;
    const measured = `${start}: random noise was added to each of ${single ? "its" : "their"} counts.`;
    element("views-chart").hidden = single;
    element("views-text").textContent = !shared
      ? `${start}: ${data.row_name} were counted, and random noise was added to sums and differences of the counts. The counts on this page were computed from these noisy numbers.`
      : single ? measured : equal ? `${measured} Each got the same share of the budget.`
        : `${measured} The colour shows each table's share of the budget: a larger share means less noise.`;
    if (data.not_measured.length) {
      element("views-text").textContent += ` Not measured: ${listed(data.not_measured)}. The categories of what was not measured are taken to be equally frequent.`;
    }
    if (data.summary.negative) {
      element("views-text").textContent += ` Note: ${data.summary.negative}.`;
    }
    const own = new Set(data.views.map((view) => key(view.axes)));
    const isSummed = allTables().tables.some((axes) => !own.has(key(axes)) && onPage(axes).source === "measured");
    if (isSummed) element("views-text").textContent += " Tables whose counts are sums of lines of these count as measured, too.";
    element("views-listed").hidden = single && size === attributes.length;
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

/** How far the bounds of a count are from it, as the page shows the three numbers. */
function plusMinus(count, half) {
  const [low, high] = boundsAround(count, half);
  return Math.max(high - shownNumber(count), shownNumber(count) - low);
}

/** The middle one of some numbers in ascending order. */
const middleOf = (numbers) => numbers[Math.floor((numbers.length - 1) / 2)];

/** How wide the bounds are beside the counts, in a line for each number of attributes and each source. */
function typical() {
  const groups = new Map();
  for (const axes of allTables().tables) {
    const { counts, halfWidths, source } = onPage(axes);
    if (!(source in KINDS)) continue;
    const name = `${axes.length} attribute${axes.length === 1 ? "" : "s"}, ${KINDS[source]}`;
    if (!groups.has(name)) groups.set(name, { tables: 0, halves: [], counts: [] });
    const group = groups.get(name);
    group.tables += 1;
    halfWidths.forEach((half, cell) => {
      if (!(half > 0 && half < Infinity)) return;
      group.halves.push(plusMinus(counts[cell], half));
      group.counts.push(counts[cell]);
    });
  }
  for (const [name, { tables, ...numbers }] of groups) {
    if (!numbers.halves.length) continue;
    const [halves, counts] = [numbers.halves, numbers.counts].map((some) => Float64Array.from(some).sort());
    const [least, middle, greatest] = [halves[0], middleOf(halves), halves.at(-1)].map((half) => `± ${whole.format(half)}`);
    const all = least === greatest ? "" : ` (from ${least} to ${greatest})`;
    const line = `${name} (${tables} table${tables === 1 ? "" : "s"}): typically ${middle} ${data.row_name}${all}; a typical count is ${whole.format(middleOf(counts))}`;
    element("errors").append(cell("li", line));
  }
  // Sums of counts that are not negative are not negative either.
  const held = [...data.views, ...data.answers].filter((table) => table.counts);
  element("below-zero").hidden = held.every((table) => doubles(table.counts).every((count) => count >= -ROUNDING));
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
