// The address of the page, which says the table, the chosen lines, their order, and what percentages are of.

/** What is shown, as the address says it. It has the names of files, and places of attributes from 1 on. */
function address() {
  const parts = new URLSearchParams(selected.map((axis) => ["table", columnOf(axis)]));
  ticked.forEach((codes, place) => {
    fileLabels(Array(codes.size).fill(selected[place]), [...codes]).forEach((label) => parts.append(`lines${place + 1}`, label));
    if (joined[place]) parts.append("together", place + 1);
    if (contrasted[place]) parts.append("others", place + 1);
  });
  if (within.length) parts.append("of", within.map((place) => place + 1));
  const { column, descending } = sorted;
  if (column !== null) {
    parts.append("sort", typeof column === "number" ? column + 1 : column);
    parts.append("order", descending ? "down" : "up");
  }
  return `${parts}`;
}

/** Write what is shown into the address. The entry of the history holds it, too, so that the button Back leads to what was shown before. */
function remember() {
  const shows = address();
  element("misread").textContent = "";
  if (shows !== history.state?.shows) history.pushState({ shows }, "", `#${shows}`);
}

/** What the address, or a text like it, says; without `asked` if it names no table of the page. All lines are chosen if it names categories that the page
 * does not have. `misread` says what the page does not have, in words; empty if it has all. */
function addressed(text) {
  const parts = new URLSearchParams(text);
  const names = parts.getAll("table");
  const asked = names.map((name) => data.attributes.findIndex((attribute) => attribute.name === name));
  const unknown = names.filter((_, place) => asked[place] === -1);
  if (unknown.length) return { misread: `an attribute ${either(unknown.map((name) => `“${name}”`))}` };
  const isTable = asked.length <= data.most && new Set(asked.map(attributeOf)).size === asked.length;
  const isHeld = !asked.length || data.live || answerable(asked);
  if (!isTable || !isHeld) return { misread: `the table ${asked.map(nameOf).join(" × ")}` };
  const labels = asked.map((_, place) => parts.getAll(`lines${place + 1}`));
  const codes = asked.map((axis, place) => labels[place].map((label) => inFiles[axis].labels.indexOf(label)));
  const lacking = labels.flatMap((own, place) => own.filter((_, at) => codes[place][at] === -1).map((label) => `“${label}” of ${nameOf(asked[place])}`));
  if (lacking.length) return { asked, misread: `a category ${either(lacking)}` };
  const marked = (name) => asked.map((_, place) => parts.getAll(name).includes(String(place + 1)));
  const places = (parts.get("of") ?? "").split(",").filter((one) => one).map((one) => Number(one) - 1);
  return { asked, codes, joined: marked("together"), contrasted: marked("others"), of: places.join(","), sorted: orderIn(parts, asked), misread: "" };
}

/** The order of lines that the parts of an address say; the declared one if they say none. */
function orderIn(parts, asked) {
  const name = parts.get("sort");
  const place = asked.findIndex((_, at) => String(at + 1) === name);
  const column = [...FIELDS, "share"].includes(name) ? name : place < 0 ? null : place;
  return { column, descending: column === null || parts.get("order") === "down" };
}

/** Show what `addressed` found, and say what the page does not have of it. Without a table, all is left as it is. */
function restore({ misread, ...found }) {
  const instead = found.asked ? "It shows all lines of the table." : "It shows another table.";
  element("misread").textContent = misread ? `The address names ${misread}. This page does not have it. ${instead}` : "";
  if (!found.asked) return false;
  selected = found.asked;
  show(found);
  return true;
}

/** Show what the address says, and go there: whoever follows a link to a table wants to see it. Another address of the page, such as that of its
 * explorer, leaves all as it is. */
function arrive() {
  const text = location.hash.slice(1);
  if (!new URLSearchParams(text).has("table")) return false;
  // A page that is loaded again stays where it was.
  if (history.state === null) {
    requestAnimationFrame(() => {
      const place = element(element("misread").textContent ? "misread" : "asked");
      place.scrollIntoView();
      place.focus({ preventScroll: true });
    });
  }
  return restore(addressed(text));
}

/** Show an entry of the history again, or what a link says. */
function travelled({ state }) {
  if (state) restore(addressed(state.shows));
  else if (!arrive()) {
    // A link to a place of the page leaves the address of what is shown.
    const isPlace = !new URLSearchParams(location.hash.slice(1)).has("table");
    history.replaceState({ shows: address() }, "", isPlace ? `#${address()}` : undefined);
  }
}
