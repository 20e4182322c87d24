// What is shown, and what readers are told when it changes.

/** Milliseconds after which a change is told, so that of several changes in a row only the last one is. */
const TOLD_AFTER = 200;

let telling = 0;

/** Tell readers who do not see the page what changed, in short words. */
function tell(text) {
  clearTimeout(telling);
  element("told").textContent = "";
  telling = setTimeout(() => { element("told").textContent = text; }, TOLD_AFTER);
}

/** How many lines the table shows, to be told after a change. */
function linesShown() {
  const number = matching().length;
  return `${number > MOST_ROWS ? `The first ${whole.format(MOST_ROWS)} of ${lineCount(number)}` : lineCount(number)} shown.`;
}

/** The number of rows in the chosen lines, to be told when other lines are chosen. */
function sumTold() {
  const sum = chosenTogether(matching());
  if (!sum) return "";
  return ` ${sum.name}: ${whole.format(sum.count)}${isKnown(sum.low) ? `, with bounds of ${bounds(sum)}` : ""}${sum.note}.`;
}

/** The table in short words, to be told when it is another one. */
function tableTold() {
  if (!shown) return element("status").textContent;
  const beware = isEstimate() ? " Do not compare groups in it." : "";
  return `${element("asked").textContent}: ${KINDS[shown.source] ?? "not measured"}. ${linesShown()}${beware}${greyTold()}`;
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

/** For each attribute of the table, whether its other categories are put together as another one. Then none is hidden. */
let contrasted = [];

let boxes = [];
let turn = 0;

/** Show the table of the selected attributes: all its lines, or those that `start` says, as `addressed` finds it. */
async function show(start = {}) {
  const mine = ++turn;
  const asked = [...selected];
  element("asked").textContent = asked.length
    ? asked.map(nameOf).join(" × ") : "No attribute chosen";
  const answer = asked.length ? await marginal(asked) : null;
  if (mine !== turn) return;
  const failed = answer === null || answer.error !== undefined;
  shown = failed ? null : { asked, answer, source: answer.source, rows: records(asked, answer) };
  choices(start);
  element("download").hidden = failed;
  sorted = start.sorted ?? { column: null, descending: true };
  offer();
  wholes(start.of ?? "");
  scale = within.length && hasShareEnds() ? "share" : "count";
  scales();
  quote();
  element("status").textContent = !asked.length
    ? `Choose up to ${data.most} attributes to see how many ${data.row_name} there are of each kind.`
    : answer === null
      ? "This page does not hold the counts of this combination. Choose fewer attributes."
      : answer.error ?? data.sources[answer.source];
  element("left-out").textContent = failed ? "" : data.left_out;
  element("made").className = isEstimate() ? "warning" : "";
  element("apart").textContent = failed ? "" : answer.apart ?? "";
  element("near").textContent = near(asked);
  table();
  // Nobody has to be told what the page shows first.
  if (mine > 1) tell(tableTold());
  // An address that was followed is in the history.
  if (mine > 1 && !start.asked) remember();
  else history.replaceState({ shows: address() }, "");
  await chart();
}

/** Whether attributes of the table were not measured together, so that groups in it must not be compared. */
const isEstimate = () => shown !== null && ["reconstructed", "assumed"].includes(shown.source);

/** Whether a sum or a line comes from a table that was measured or is public, so that its percentage in another one has bounds. */
const isMeasured = ({ source }) => ["measured", "known"].includes(source);

/** Whether rows of a person may have been left out: the publisher does not state that nobody has more than were counted. */
function someLeftOut() {
  return data.statement.unit !== null && data.statement.bound !== "declared and enforced";
}

/** What the whole is called: if the rows of a person were limited, not all rows were counted. */
function allRows() {
  return `${someLeftOut() ? "counted" : "all"} ${data.row_name}`;
}

/** The names of the attributes at some places of the table. */
const namesAt = (places) => places.map((place) => nameOf(shown.asked[place])).join(" × ");

/** All places of the table but one. */
const allBut = (left) => shown.asked.map((_, place) => place).filter((place) => place !== left);
