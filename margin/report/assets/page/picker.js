// The list of attributes, with a search, and what belongs to which level.

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

/** The choice after an axis is added. A level takes the place of another level of its attribute. */
function added(axis) {
  const place = selected.findIndex((other) => attributeOf(other) === attributeOf(axis));
  return place < 0 ? [...selected, axis] : selected.map((other, own) => (own === place ? axis : other));
}

/** The elements that say why attributes cannot be added: too many are chosen, or the page does not hold them together. */
const REASONS = ["full", "unknown"];

/** Grey out the attributes that cannot be added, and say why. */
function offer() {
  const reasons = boxes.map((box, axis) => {
    box.checked = selected.includes(axis);
    const next = added(axis);
    if (box.checked) return null;
    return next.length > data.most ? "full" : data.live || answerable(next) ? null : "unknown";
  });
  boxes.forEach((box, axis) => {
    const reason = reasons[axis];
    // Keys reach a box that is disabled in this way, so that its reason is heard.
    box.setAttribute("aria-disabled", reason !== null);
    box.parentElement.title = reason === null ? "" : whyNot(reason);
    if (reason === null) box.removeAttribute("aria-describedby");
    else box.setAttribute("aria-describedby", reason);
  });
  REASONS.forEach((reason) => { element(reason).hidden = !reasons.includes(reason); });
  element("grey").hidden = reasons.every((reason) => reason === null);
  element("ask").hidden = data.live || !("Contact" in data.imprint);
}

/** Why attributes cannot be added, as one of `REASONS`, in words. */
const whyNot = (reason) => element(reason).textContent.replace(/\s+/g, " ");

/** Which attributes cannot be added, and why, to be told when the table is another one. */
function greyTold() {
  const told = REASONS.map((reason) => [reason, boxes.filter((box) => box.getAttribute("aria-describedby") === reason).length]);
  return told.map(([reason, number]) => (number ? ` ${number} attribute${number === 1 ? " is" : "s are"} not available. ${whyNot(reason)}` : "")).join("");
}

/** What stands beside the name of an attribute: its number of categories, or that it was not measured. */
function sizeOf(axis) {
  if (data.not_measured.includes(columnOf(attributeOf(axis)))) return "not measured";
  return sizes[axis] === 1 ? "1 category" : `${sizes[axis]} categories`;
}

/** A word of English without the ending of its plural. */
const stem = (word) => (word.length > 3 ? word.replace(/(?:ies|es|s)$/, "") : word);

/** Whether a text has what a reader searches: the words as they are or, if no attribute has these, each of them as a stem. */
function searched(wanted) {
  const stems = wanted.split(/\s+/).map(stem);
  const isIn = (text) => folded(text).includes(wanted);
  const hasAny = data.attributes.some(({ name, description, labels }) => [name, description ?? "", ...labels].some(isIn));
  return hasAny ? isIn : (text) => stems.every((one) => folded(text).includes(one));
}

/** The categories of an attribute that have what is searched, first those that begin with it. */
function categoriesWith(wanted, isIn, axis) {
  const found = data.attributes[axis].labels.filter(isIn);
  const [first, others] = [true, false].map((begins) => found.filter((label) => folded(label).startsWith(wanted) === begins));
  return [...first, ...others];
}

function picker() {
  element("full").textContent = `At most ${data.most} attributes can be chosen.`;
  const fields = element("attributes");
  boxes = data.attributes.map((attribute, axis) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.addEventListener("click", (event) => {
      if (box.getAttribute("aria-disabled") !== "true") return;
      event.preventDefault();
      tell(whyNot(box.getAttribute("aria-describedby")));
    });
    box.addEventListener("change", () => {
      selected = box.checked ? added(axis) : selected.filter((other) => other !== axis);
      show();
    });
    const size = document.createElement("span");
    size.className = "size";
    size.textContent = sizeOf(axis);
    label.append(box, nameOf(axis));
    // Who sees the page sees that the name is indented.
    if (attribute.level_of !== null) label.append(cell("span", `, a level of ${nameOf(attribute.level_of)}`, "hidden"));
    label.append(size);
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
  // Show one attribute at the start: the first one that the page holds.
  selected = [Math.max(0, boxes.findIndex((_, axis) => data.live || answerable([axis])))];
  boxes[selected[0]].checked = true;
  element("search").addEventListener("input", (event) => {
    const wanted = folded(event.target.value.trim());
    const isIn = searched(wanted);
    boxes.forEach((box, axis) => {
      const { name, description } = data.attributes[axis];
      const isNamed = isIn(`${name} ${description ?? ""}`);
      const found = isNamed ? [] : categoriesWith(wanted, isIn, axis);
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
