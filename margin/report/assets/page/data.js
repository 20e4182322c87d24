// The data of the page, its attributes, and how numbers are written.

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

/** The number of letters above which a word may break in a table on a narrow screen. */
const LONG_WORD = 12;

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

/** A number as the page shows it: whole. */
const shownNumber = (number) => Number(whole.format(number).replaceAll(",", ""));

/** The text of a percentage as a whole number of tenths. */
const tenths = (text) => Number(text.replace(/[.,%]/g, ""));

/** The attributes with the labels that files have. */
const inFiles = data.attributes.map(({ labels }) => ({ labels }));

/** The labels of the axes of a line in files. */
const fileLabels = (axes, codes) => axes.map((axis, at) => inFiles[axis].labels[codes[at]]);

/** The limits of a band in its label, such as "18 to under 30"; null for other labels. A limit that it does not have is undefined. */
const limitsOf = (label) => label.match(/^(?:under (?<end>\S+)|(?<from>\S+) or more|(?<start>\S+)(?<between> to under | to )(?<stop>\S+))$/)?.groups ?? null;

// On the page, the limits of bands have marks of thousands. Without one of five digits, they may be years.
for (const attribute of data.attributes) {
  const hasLarge = attribute.labels.some((label) => /(?<![\d.])\d{5}/.test(label));
  if (!attribute.banded || !hasLarge || attribute.labels.some((label) => limitsOf(label) === null)) continue;
  attribute.labels = attribute.labels.map((label) => label.replace(/(?<![\d.])\d{4,}/g, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",")));
}

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
const isKnown = (bound) => !Number.isNaN(bound);
const range = (low, high) => `${whole.format(low)} to ${whole.format(high)}`;

/** The bounds of a record as text; empty where they are not known. */
const bounds = (row) => (isKnown(row.low) ? range(row.low, row.high) : "");

const lineCount = (number) => `${whole.format(number)} line${number === 1 ? "" : "s"}`;

function cell(kind, text, style) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (style) made.className = style;
  if (kind === "th") made.scope = "col";
  return made;
}

const isDescribed = (axis) => data.attributes[axis].description !== null;

/** The name of an attribute with its declared description, such as "income: EUR a month"; the name alone if it has none. */
function toldOf(axis) {
  const { description } = data.attributes[axis];
  if (!isDescribed(axis)) return nameOf(axis);
  // A level has the description of its attribute.
  return attributeOf(axis) === axis ? `${nameOf(axis)}: ${description}` : `${nameOf(axis)}: a level of ${nameOf(attributeOf(axis))} (${description})`;
}

/** How tables were made, in few words. */
const KINDS = { known: "public", measured: "measured", based: "measured, combined with the base", reconstructed: "reconstructed", answered: "answered" };

/** A text without accents, capital letters and marks of thousands. */
const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").replace(/(?<=\d),(?=\d{3})/g, "").toLowerCase();

/** Show a shadow at the lower edge of a box if its content goes on below. */
function fade(box) {
  box.classList.toggle("more", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
}

/** Some names in a sentence; of many, the first ones. */
function listed(names) {
  const few = names.length > 8 ? [...names.slice(0, 7), `${names.length - 7} more attributes`] : names;
  return new Intl.ListFormat("en").format(few);
}
