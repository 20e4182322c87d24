// Sentences on the table: how to quote a number, and what its bounds say.

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

/** What a quotation says of a number behind its words, by the way in which the table was made that has the number as a line or as a sum. */
const QUOTED = {
  known: () => "This number is public and has no noise.”",
  measured: (number, ends) => `With a probability of about 95 %, ${number} is from ${ends}; noise was added for privacy.”`,
  based: (number, ends) => estimated("estimated in part", number, ends),
  reconstructed: (number, ends) => estimated("not measured, but estimated from smaller tables", number, ends),
};

const estimated = (how, number, ends) => `This number was ${how}; noise was added for privacy. On average, 95 % of such estimates have ${number} between their bounds: here, ${ends}.”`;

/** The beginning of a quotation. The numbers say nothing of those who are not in the table. */
const AMONG = "“Among those counted,";

/** That only some rows of a person were counted, for brackets in a quotation. */
const upTo = () => (someLeftOut() ? `at most ${data.statement.rows} counted for each ${data.unit_name}` : "");

/** What some rows have in a sentence to print, such as "town Elm and age ‘18 or more’": the chosen categories of the attributes at some places of the
 * table, or those of a line. Quotes keep the words of a category apart from those of the sentence. */
function having(places, row = null) {
  const parts = places.map((place) => {
    const text = row ? row.labels[place] : tickedIn(place, Infinity);
    return `${nameOf(shown.asked[place])} ${/,| or | and /.test(text) ? `‘${text}’` : text}`;
  });
  return new Intl.ListFormat("en").format(parts);
}

/** The number to quote: the sum of the chosen lines or, without its bounds, the largest count of the lines that are shown; null without any.
 *
 * It has the source of the table that has it: a sum of lines of a reconstructed table may be a line of a measured one. */
function quotable() {
  const chosen = matching();
  // All others beside the chosen categories are there to compare.
  const isChosen = ({ codes }) => together().every((place) => ticked[place].has(codes[place]));
  const left = chosen.filter((row) => isKnown(row.low) && !row.known && isChosen(row));
  const row = left.reduce((most, one) => (one.count > most.count ? one : most), left[0] ?? chosen[0]);
  const places = limited();
  const sum = chosen.length > 1 && places.length && !together().length ? sumAt(places) : {};
  if (sum.source in QUOTED && (sum.ends || sum.known)) {
    const [low, high] = sum.ends ?? [sum.count, sum.count];
    const from = places.length < shown.asked.length && sum.source !== shown.source ? namesAt(places) : "";
    return { count: sum.count, low, high, source: sum.known ? "known" : sum.source, from, what: having(places), row };
  }
  if (!left.length) return null;
  const what = having([...shown.asked.keys()], row);
  return { ...row, source: row.source ?? shown.source, from: row.from ?? "", what, row };
}

/** A sentence that quotes a number of the table, one that quotes a percentage, and what else can be said with its numbers. */
function quote() {
  const isBounded = shown && shown.rows.every((row) => isKnown(row.low));
  element("quote").hidden = !isBounded || !["measured", "based", "reconstructed"].includes(shown.source);
  if (element("quote").hidden) return;
  const quotes = quotable();
  const measured = shown.source === "measured";
  element("compare").textContent = comparing();
  element("sums").textContent = measured
    ? `${element("filtering").hidden ? "" : SUMMING}${data.adding}`
    : `${element("filtering").hidden ? "" : CHOOSING}Do not add up bounds of lines of this table: ${"Contact" in data.imprint ? "the contact below" : "whoever has the file of the release"} can compute a sum with its bounds.`;
  element("shares").textContent = measured ? sharing() : "";
  element("by-hand").textContent = measured ? BY_HAND : "";
  const share = quotes && quotableShare(quotes);
  element("quoted").textContent = quotes ? `For example: ${quotationOf(quotes)}` : "";
  element("quoted-share").textContent = share ? `A percentage, for example: ${quotationOfShare(share)}` : "";
  // Whoever chose what percentages are of wants to quote one of them.
  if (within.length) element("quoted").before(element("quoted-share"));
  else element("quoted").after(element("quoted-share"));
}

/** A count in a sentence; only its bounds if there may be none, since nobody may say then that there are some. */
function quotationOf({ count, source, what, from, ...row }) {
  const isDoubtful = mayBeNobody({ ...row, known: source === "known" });
  const about = source === "known" ? "" : "about ";
  const said = isDoubtful ? bounds(row) : `${about}${whole.format(count)}`;
  const counted = upTo() && ` (${upTo()})`;
  const number = someLeftOut() ? `the true number of counted ${data.row_name}` : "the true number";
  const made = from && ` This number is ${KINDS[source]}: the table ${from} has it.`;
  return `${AMONG} ${said} ${data.row_name} have ${what}${counted}. ${QUOTED[source](number, bounds(row))}${made}${isDoubtful ? ` Beware: ${nobody()}` : ""}`;
}

/** The percentage to quote: that of the chosen lines or, if percentages are within a category, that of the quoted line; null without bounds. */
function quotableShare({ row }) {
  const ofLines = chosenTogether(matching()) && shareOfSum();
  const ofLine = shareOf(row);
  return within.length ? ofLine ?? ofLines : ofLines ?? ofLine;
}

/** A percentage in a sentence. */
function quotationOfShare({ share, ends, of, have, isPublic }) {
  const which = `${data.row_name}${of && ` with ${of}`}`;
  const counted = upTo() && ` (${upTo()})`;
  const sure = isPublic ? "This percentage is public and has no noise." : `With a probability of about 95 % or more, the true percentage is from ${ends.join(" to ")}; noise was added for privacy.`;
  return `${AMONG} about ${percent.format(share)} of the ${which} have ${have}${counted}. ${sure}”`;
}

const CHOOSING = "For a sum of lines, choose their categories above the table: the text below the table then gives the sum and, where this page can tell them, its bounds. ";
const SUMMING = "For a sum of lines, choose their categories above the table: the text below the table then gives the sum with its bounds. Where it gives none, follow these rules. ";

/** What bounds say about which of two counts is larger. */
function comparing() {
  if (isEstimate()) return notCompared("this table");
  return shown.source === "measured" ? `${OVERLAP} ${APART_ENOUGH}` : OVERLAP;
}

const OVERLAP = "If the bounds of two counts overlap or touch, do not conclude from them that one true number is larger than the other.";
const APART_ENOUGH = "If they do not even touch, it is larger with a probability of about 95 % or more; of many such conclusions, some may be wrong. This holds for measured tables only.";

/** That groups in some tables must not be compared. */
const notCompared = (which) => `Do not compare counts, shares or ratios of groups in ${which}, even if their bounds do not overlap: what distinguishes the groups may not be in these numbers. Compare groups in measured tables.`;

/** How to give bounds to a share that no table of the page has.
 *
 * To first order, the error of c - r T has at most the standard deviation of c plus r times that of T, whatever their correlation is. */
const BY_HAND = "A ratio of two counts, or a share that this page does not show, has bounds, too: divide the low bound of one count by the high bound of the other, and the high bound by the low bound. If a share is more than 100 % then, or a low bound to divide by is 0, its high bound is 100 %.";

/** What the bounds of percentages say, and where other percentages are. */
function sharing() {
  return `The column “bounds of %” has the bounds of each percentage. They are wider than need be, so they hold at least as often.`
    + ` If those of two percentages overlap or touch, do not conclude from them which one is larger; for percentages of the same number, their counts may tell it. How far two are apart has bounds, too: low minus high, and high minus low. ${APART}${shareOfGroup()}`;
}

const APART = "For example, percentages of 48.0% to 54.8% and of 31.6% to 34.6% are 13.4 to 23.2 percentage points apart.";

/** Where the share of one category in a group is. */
function shareOfGroup() {
  const last = shown.asked.length - 1;
  if (last < 1) return "";
  const others = within.length === last ? within : allBut(last);
  const [one] = shown.asked.filter((_, place) => !others.includes(place));
  const group = namesAt(others);
  const same = new Intl.ListFormat("en").format(others.map((place) => nameOf(shown.asked[place])));
  const which = `the share of the ${data.row_name} with the same ${same} that are in one category of ${nameOf(one)}`;
  if (!onPage(others.map((place) => shown.asked[place])) && !data.live) return ` This page has no bounds for ${which}: it does not hold the table ${group}.`;
  return others === within ? "" : ` For ${which}, choose “each ${group}” from the list “Percentages of” above the table.`;
}

/** The share of a line as the table shows it, with its bounds as texts, what it is of, and what those have; null without bounds. */
function shareOf(row) {
  const all = wholesAt(within)(row);
  const ends = isMeasured({ source: shown.source, ...row }) && isMeasured(all) ? shareEnds(row, all, restsAt(together())(row, all)) : null;
  if (!ends) return null;
  const told = (some) => (some.length ? having(some, row) : "");
  const rest = shown.asked.map((_, place) => place).filter((place) => !within.includes(place));
  return { share: shareIn(row, sums()), ends, isPublic: false, of: told(within), have: told(rest) };
}

/** What counts lack if only some rows of a person were counted, or that the publisher states that they lack none. */
function leftOut() {
  const { unit, rows } = data.statement;
  if (unit === null) return "";
  if (!someLeftOut()) return ` The publisher states that ${rows === 1 ? "no two" : `at most ${rows}`} ${data.row_name} have the same “${unit}”, so none was left out.`;
  return ` At most ${rows} of the ${data.row_name} of each ${data.unit_name} ${rows === 1 ? "was" : "were"} counted. So counts and totals may be too low, and percentages are of the counted ${data.row_name}: whoever has more weighs less. How many were not counted is not known here.`;
}

/** Whether the bounds of a number with noise allow that it counts nobody. */
const mayBeNobody = (row) => !row.known && row.low <= 0;

/** What such a number does not say. */
const nobody = () => `The low bound is not above 0, so there may be no such ${data.row_name}: ${isEstimate() ? "noise or an estimate" : "noise"} alone can make such a count. Do not write that there are some.`;

/** How often bounds miss, and what small counts with noise do not say. In one table of estimates, many bounds may miss. */
function misses() {
  const noisy = shown.rows.filter((row) => isKnown(row.low) && !row.known);
  if (!noisy.length) return "";
  const often = ["measured", "based"].includes(shown.source) ? "About 1 in 20 bounds misses the true number. " : "";
  const highs = matching().filter((row) => !row.known && row.high <= 1).map((row) => row.high);
  const nobody = highs.length ? `Where the high bound is ${Math.min(...highs) < 1 ? "1 or less" : "1"}, do not write that there are no such ${data.row_name}: there may be one or, if the bounds miss, more. ` : "";
  const impossible = shown.asked.length > 1 ? "A combination that cannot occur can show a small count, and bounds above 0, because of the noise." : "";
  return `${often}${nobody}${impossible}`.trim();
}

/** Whether small numbers may be printed, if the table has numbers with noise. That of a simulation must not be published. */
function printing() {
  const isNoisy = shown.rows.some((row) => isKnown(row.low) && !row.known);
  if (!isNoisy || !data.private) return "";
  return "A small number may be printed, too, with its bounds, if the low one is above 0: noise blurs it like a large one. What it can tell about anybody is limited as “What is protected” says, however small it is."
    + " It says little if its bounds are as far apart as the number is large, or farther.";
}

/** How far the counts and the percentages of two chosen lines of a measured table are apart; empty for others.
 *
 * The bounds are those of the rule in `data.adding`, which holds for any correlation of the two errors. So it holds for lines of categories that are
 * together, too, even if a smaller table has one of them. It holds for percentages: half the width of their bounds is at least that of their errors; see
 * `sharing`. */
function differences(rows) {
  const isChosen = limited().length > 0 || together().length > 0;
  const isRuled = rows.length === 2 && shown.source === "measured" && isChosen;
  if (!isRuled || rows.some((row) => row.known || !isKnown(row.low) || !isMeasured({ source: shown.source, ...row }))) return "";
  const names = rows.map((row) => rowName(row, rows));
  // Numbers as the table shows them, so that readers find the difference there.
  const counts = rows.map((row, at) => ({ name: names[at], value: shownNumber(row.count), low: row.low, high: row.high }));
  const percentages = rows.map(shares()).map(({ share, ends }, at) => ends && { name: names[at], value: tenths(percent.format(share)), low: tenths(ends[0]), high: tenths(ends[1]) });
  // Shares of the same rows are in the order of their counts, whose bounds are narrower.
  const isSameWhole = within.every((place) => rows[0].codes[place] === rows[1].codes[place]);
  // All rows of a whole, put together, are 100 % of it by choice.
  const isPart = shown.asked.some((axis, place) => !within.includes(place) && !(joined[place] && ticked[place].size === sizes[axis]));
  const points = (number) => (number / 10).toFixed(1);
  const hasPercentages = isPart && percentages.every((one) => one);
  const ofPercentages = !hasPercentages ? ""
    : `${difference("percentage", percentages, points, " percentage points")}${isSameWhole ? "" : `, ${larger("percentage", percentages)}`}. `;
  const follows = hasPercentages && isSameWhole ? " The percentages are of the same number, so what is said of the counts holds for them, too." : "";
  return `${ofPercentages}${difference("count", counts, whole.format)}, ${larger("count", counts)}.${follows} Such bounds are low minus high, and high minus low.`;
}

/** The name of one of two lines: the categories in which it differs from the other one. */
function rowName(row, [one, other]) {
  const own = row.labels.filter((_, place) => one.labels[place] !== other.labels[place]);
  return `“${own.join(" · ")}”`;
}

/** Two numbers, the larger one first. */
const byValue = ([one, other]) => (one.value < other.value ? [other, one] : [one, other]);

/** The bounds of the first of two numbers minus the second. */
const boundsApart = ([first, second]) => [first.low - second.high, first.high - second.low];

/** How far two numbers are apart, in words without a minus sign. */
function difference(what, numbers, written, unit = "") {
  const [first, second] = byValue(numbers);
  const [least, most] = boundsApart([first, second]);
  const between = first.value - second.value;
  const how = between ? `${written(between)}${unit} above` : "equal to";
  const ends = least < 0 ? `${written(-least)} below to ${written(most)} above it` : `${written(least)} to ${written(most)}`;
  return `The ${what} of ${first.name} is ${how} that of ${second.name}, with bounds of ${ends}`;
}

/** Which of two true numbers is larger, in words, if their bounds tell. */
function larger(what, numbers) {
  const [first, second] = byValue(numbers);
  const [least] = boundsApart([first, second]);
  return least > 0 ? `so the true ${what} of ${first.name} is larger with a probability of about 95 % or more`
    : `which allow 0: do not conclude which true ${what} is larger`;
}

/** The sums of the counts of all lines and, if some are hidden, of the others. The bounds of the number of all rows follow, if that is the sum. */
function adding(rows) {
  const total = sumOfCounts(shown.rows);
  const { low, high, count } = data.total ?? {};
  const isAll = typeof low === "number" && Math.abs(total - count) < 1;
  const all = `${whole.format(total)}${isAll && low < high ? ` (${allRows()}: ${range(low, high)})` : ""}`;
  return limited().length
    ? `Before rounding, the counts of the lines with ${condition()} add up to ${whole.format(sumOfCounts(rows))}, and those of all lines of the table to ${all}.${boundsOfSum(rows)}`
    : `Before rounding, the counts of this table add up to ${all}.`;
}

/** The bounds of the sum of the chosen lines in words, if the page can tell them, and its percentage. */
function boundsOfSum(rows) {
  const places = limited();
  const { count, ends, isLine, known, source } = sumAt(places);
  const isSmaller = places.length < shown.asked.length;
  const share = shareOfSum();
  const percentage = share && `${percent.format(share.share)}: ${share.ends.join(" to ")} of ${allRows()}${share.of && ` with ${share.of}`} have ${share.have}.`;
  const said = share ? ` The percentage of the sum is ${percentage}` : "";
  // The shown table tells how it was made itself, but not how another one was.
  const made = source === shown.source || !(source in KINDS) ? "" : ` (${KINDS[source]})`;
  // The same rows may have another number in a smaller table.
  if (isSmaller && ends && isOther(count, rows)) {
    const quotes = isMeasured({ source }) ? " Quote this number, not the sum of the lines." : "";
    return ` In the table ${namesAt(places)}${made}, the number of the same ${data.row_name} is ${whole.format(count)}, with bounds of ${range(...ends)}.${share ? ` Its percentage is ${percentage}` : ""}${quotes}`;
  }
  if (isLine) return isSmaller ? ` The table ${namesAt(places)}${made} has this sum as a line: ${whole.format(count)}, with bounds of ${range(...ends)}.${said}` : "";
  if (known) return "";
  if (ends) return ` Bounds of ${isSmaller ? `this sum, from the table ${namesAt(places)}${made},` : "the first sum"} are ${range(...ends)}.${said}`;
  const advice = element("quote").hidden ? "" : ": “How to quote a number” says what to do";
  const sum = chosenTogether(rows);
  return sum ? ` This page has no bounds for the last line of the table, “${sum.name}”${advice}.` : "";
}

/** The same as a record of `shareOf`; null if it has none. */
function shareOfSum() {
  const places = limited();
  const own = places.filter((place) => within.includes(place));
  const ends = shareEndsOfSum();
  const rest = places.filter((place) => !own.includes(place));
  const [part, all] = [sumAt(places), sumAt(own)];
  const isPublic = [part, all].every(({ known, source }) => known || source === "known");
  return ends && { share: shareOfNumber(part.count, all.count), ends, isPublic, of: own.length ? having(own) : "", have: having(rest) };
}

/** That the limits of numbers in the table are the only ones, once for all attributes with bands. */
function bands() {
  const banded = shown.asked.filter((axis) => data.attributes[axis].banded);
  const limits = `The limits of ${listed(banded.map(nameOf))} are fixed: this page has no counts for other limits than those in the table. Bands side by side can be put together as one.`;
  return banded.length ? [limits] : [];
}

/** That the publisher did not say what some attributes of the table mean; empty if all have a description, and for whoever has the file of the release. */
function unexplained(axes) {
  const lacking = [...new Set(axes.map(attributeOf))].filter((axis) => !isDescribed(axis));
  if (!lacking.length || data.live) return "";
  const { Contact: contact } = data.imprint;
  const mean = lacking.length === 1 ? "means, such as its" : "mean, such as their";
  return `The publisher has not declared what ${listed(lacking.map(nameOf))} ${mean} unit, time or place. If the text at the top does not tell it, ask`
    + ` ${contact ? `them: ${contact}` : "whoever gave this to you"}.`;
}

/** That lines which are not shown count in percentages, and how to have the share of a line in those that are shown; empty if the percentages have no
 * such lines.
 *
 * The last line of the table is the sum of those shown, so `BY_HAND` has the bounds of such a share. */
function hiddenLines(rows) {
  const hides = limited().some((place) => !within.includes(place));
  if (!hides || !rows.length) return "";
  const named = (places) => listed(places.map((place) => nameOf(shown.asked[place])));
  const whole = `${allRows()}${within.length ? ` with the same ${named(within)}` : ""}`;
  const counted = `Percentages are of ${whole}, also of those in lines that are not shown. `;
  const codesOf = (places) => new Set(rows.map((row) => places.map((place) => row.codes[place]).join(","))).size;
  const sum = chosenTogether(rows);
  const hasRatio = sum && isKnown(sum.low) && isMeasured(sum) && hasShareEnds() && codesOf(within) < rows.length;
  if (!hasRatio) return counted;
  // The sum is of one group only if no other one is shown.
  const several = within.filter((place) => codesOf([place]) > 1);
  const first = several.length ? `choose one category of ${named(several)}, and ` : "";
  return `${counted}For the share of a line in those that are shown, ${first}divide its count by that of the last line of the table: “How to quote a number” has the bounds of such a ratio. `;
}

/** What the lines are if categories are together, and where their bounds cannot be told. */
function joinedLines(rows) {
  const lacking = rows.filter((row) => !isKnown(row.low)).length;
  const which = lacking === rows.length ? "these sums" : "sums without bounds";
  const [{ from, source } = {}] = rows.filter((row) => row.from !== undefined);
  const made = source in KINDS ? `The count and the bounds of each line are those of ${from ? `the table ${from}` : `the number of ${allRows()}`} (${KINDS[source]}). ` : "";
  const without = `This page cannot tell the bounds of ${which}. Do not add up the bounds of their parts. `;
  const told = made || (lacking < rows.length ? "The bounds of each line are those of the sum of its categories. " : "");
  const named = (places) => listed(places.map((place) => nameOf(shown.asked[place])));
  const against = together().filter(isContrasted);
  const rest = against.length ? `, and all other categories of ${named(against)} as another one` : "";
  // The chosen categories of other attributes say which lines are shown.
  const chosen = limited().filter((place) => !together().includes(place));
  const only = chosen.length ? `The table shows the lines with ${condition(MOST_TOLD, chosen)}. ` : "";
  return `In each line, the chosen categories of ${named(together())} are together as one`
    + ` (${condition(MOST_TOLD, together())})${rest}. ${only}${told}${lacking ? without : ""}`;
}
