// The address of the page, which says the table, the chosen lines, and what percentages are of.

/** Write what is shown into the address. It has the names of files, and places of attributes from 1 on. */
function remember() {
  const parts = new URLSearchParams(selected.map((axis) => ["table", columnOf(axis)]));
  ticked.forEach((codes, place) => {
    fileLabels(Array(codes.size).fill(selected[place]), [...codes]).forEach((label) => parts.append(`lines${place + 1}`, label));
    if (joined[place]) parts.append("together", place + 1);
    if (contrasted[place]) parts.append("others", place + 1);
  });
  if (within.length) parts.append("of", within.map((place) => place + 1));
  history.replaceState(null, "", `#${parts}`);
}

/** What the address says; null if it names no table of the page. All lines are chosen if it names categories that the page does not have. */
function addressed() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const asked = parts.getAll("table").map((name) => data.attributes.findIndex((attribute) => attribute.name === name));
  const isTable = asked.length > 0 && asked.length <= data.most && !asked.includes(-1) && new Set(asked.map(attributeOf)).size === asked.length;
  if (!isTable || !(data.live || answerable(asked))) return null;
  const codes = asked.map((axis, place) => parts.getAll(`lines${place + 1}`).map((label) => inFiles[axis].labels.indexOf(label)));
  if (codes.flat().includes(-1)) return { asked };
  const marked = (name) => asked.map((_, place) => parts.getAll(name).includes(String(place + 1)));
  const places = (parts.get("of") ?? "").split(",").filter((text) => text).map((text) => Number(text) - 1);
  return { asked, codes, joined: marked("together"), contrasted: marked("others"), of: places.join(",") };
}

/** Show what the address says. Another address of the page, such as that of its explorer, leaves all as it is. */
function restore() {
  const found = addressed();
  if (!found) return false;
  selected = found.asked;
  show(found);
  return true;
}
