// The lists of categories, to choose lines and to put categories together as one.

/** Offer the categories of each attribute of the table, to choose lines. `start` says which are chosen, as `addressed` finds them. */
function choices(start) {
  element("filtering").hidden = !shown || shown.rows.length < MANY_LINES;
  const chosen = element("filtering").hidden ? {} : start;
  ticked = shown ? shown.asked.map((_, place) => new Set(chosen.codes?.[place])) : [];
  joined = ticked.map((_, place) => chosen.joined?.[place] ?? false);
  contrasted = ticked.map((_, place) => chosen.contrasted?.[place] ?? false);
  element("unbounded").textContent = shown ? unboundedSums() : "";
  element("choices").replaceChildren(...(element("filtering").hidden ? [] : shown.asked.map((axis, place) => choice(axis, place))));
}

/** Which sums of lines of the table have no bounds; empty if all have them. */
function unboundedSums() {
  if (shown.source === "known") return "";
  if (shown.source !== "measured") return "Sums of lines of this table have no bounds on this page, unless a table with fewer attributes has the sum and was measured.";
  const hasKnown = shown.rows.some((row) => row.known);
  const codes = shown.asked.map(() => [0]);
  return hasKnown || halfOfSum(shown.asked, codes) === null ? "On this page, some sums of more than two lines of this table have no bounds." : "";
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
  const [join, joining] = labelledBox(`Put the chosen categories of ${name} together as one`);
  const [contrast, contrasting] = labelledBox(`Put all other categories of ${name} together as another one`);
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
    const others = isContrasted(place) ? ", and all others together" : "";
    summary.textContent = `${name}: ${tickedIn(place)}${isJoined(place) && ticked[place].size > 1 ? ", together as one" : ""}${others}`;
    clear.disabled = !ticked[place].size;
    // Beside the others, the chosen ones are always one.
    join.disabled = ticked[place].size < 2 || isContrasted(place);
    join.checked = joined[place] || isContrasted(place);
    contrast.checked = contrasted[place];
    contrast.disabled = !ticked[place].size || ticked[place].size === labels.length;
  };
  const changed = () => {
    told();
    quote();
    table();
    chart();
    remember();
    tell(`${summary.textContent}. ${linesShown()}${sumTold()}`);
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
    joined[place] = contrasted[place] = false;
    // A disabled button loses the focus.
    summary.focus();
    fill();
    changed();
  });
  join.addEventListener("change", () => {
    joined[place] = join.checked;
    changed();
  });
  contrast.addEventListener("change", () => {
    contrasted[place] = contrast.checked;
    changed();
  });
  search.addEventListener("input", () => {
    fill();
    tell(note.textContent || `${whole.format(found().length)} of ${whole.format(labels.length)} categories of ${name} found.`);
  });
  list.addEventListener("scroll", () => fade(list));
  made.addEventListener("toggle", fill, { once: true });
  told();
  made.append(summary, search, list, note, joining, contrasting, clear);
  return made;
}

/** A box to tick, and the label that it stands in. */
function labelledBox(text) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  label.append(box, text);
  return [box, label];
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
