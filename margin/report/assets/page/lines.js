// The chosen lines of the table, their sums, and the bounds of these.

/** The lines of the table of the attributes at some places of the shown one, by their codes. Of none, that is the number of all rows. */
function linesAt(places, joint) {
  const { low, high, ...total } = data.total ?? {};
  if (!places.length) return new Map([["", { ...total, low: low ?? NaN, high: high ?? NaN }]]);
  const axes = places.map((place) => shown.asked[place]);
  const answer = onPage(axes);
  const lines = answer ? merged(records(axes, answer), places, answer, joint) : [];
  return new Map(lines.map((row) => [row.codes.join(","), { source: answer.source, ...row }]));
}

/** For each line, the number of rows with the same categories at some places of the table, with its bounds. */
function wholesAt(places, joint = together()) {
  const found = linesAt(places, joint);
  return (row) => found.get(places.map((place) => row.codes[place]).join(",")) ?? {};
}

const sumOfCounts = (rows) => rows.reduce((sum, row) => sum + row.count, 0);

/** The sum of the lines with the ticked categories of the attributes at some places of the table, with its bounds; null where the page
 * cannot tell them.
 *
 * It is that of the lines with these categories in the table of these attributes alone. */
function sumAt(places) {
  if (!places.length) return { ...data.total, ends: data.total && isFinite(data.total.low ?? NaN) ? [data.total.low, data.total.high] : null };
  const axes = places.map((place) => shown.asked[place]);
  const answer = onPage(axes);
  const found = answer ? records(axes, answer).filter(({ codes }) => codes.every((code, at) => ticked[places[at]].has(code))) : [];
  const isLine = found.length === 1 && isKnown(found[0].low);
  return {
    count: sumOfCounts(found),
    ends: isLine ? [found[0].low, found[0].high] : endsOfSum(axes, answer, found),
    isLine,
    known: found.length > 0 && found.every((row) => row.known),
    source: answer?.source,
  };
}

/** Whether a number is another one than the sum of some lines, as the page shows them. */
const isOther = (count, rows) => whole.format(count) !== whole.format(sumOfCounts(rows));

/** The number of rows in the chosen lines, with its bounds, its share in `all`, what these are if the other shares are of others, a name and how it was made; null where lines are not chosen to be added up.
 *
 * A table with fewer attributes may have this number. It is not the sum of the lines then, so a note says what they add up to. */
function chosenTogether(rows) {
  const places = limited();
  if (!places.length || rows.length < 2) return null;
  const sum = sumAt(places);
  const isTold = sum.ends || sum.known;
  const count = isTold ? sum.count : sumOfCounts(rows);
  const [low, high] = sum.known ? boundsAround(count, 0) : sum.ends ?? [NaN, NaN];
  const made = KINDS[sum.source];
  const lines = `${whole.format(rows.length)} chosen lines`;
  const isSum = !isOther(count, rows);
  const name = isSum ? `Sum of the ${lines}` : `The ${lines} together`;
  const note = isSum ? (isTold && isEstimate() && isMeasured(sum) ? `, ${made}` : "")
    : `, ${made} in the table ${namesAt(places)}; the lines above add up to ${whole.format(sumOfCounts(rows))}`;
  const own = places.filter((place) => within.includes(place));
  const all = own.length === places.length ? count : sumAt(own).count;
  const of = within.length ? `${allRows()}${own.length ? ` with ${condition(Infinity, own)}` : ""}` : "";
  return { name, note, of, count, low, high, all, shareEnds: shareEndsOfSum(), source: isTold ? sum.source : shown.source };
}

/** The bounds of the percentage of the chosen lines in what percentages are of, as texts; null if it has none, or is 100 % by choice.
 *
 * They need not the lines to be measured: the tables that have both sums must be. */
function shareEndsOfSum() {
  const places = limited();
  const own = places.filter((place) => within.includes(place));
  const [part, all] = [sumAt(places), sumAt(own)];
  if (own.length === places.length || !part.ends || !all.ends || !isMeasured(part) || !isMeasured(all)) return null;
  const [one, other] = [part, all].map(({ count, ends: [low, high] }) => ({ count, low, high }));
  return shareEnds(one, other, restOfSum(places, own, one, other));
}

/** The rows of `all` that are not in the chosen lines, with their bounds, if these lines are chosen by the categories of one attribute beside those in `own`. */
function restOfSum(places, own, part, all) {
  const [place, ...more] = places.filter((one) => !own.includes(one));
  if (more.length) return null;
  const axes = places.map((one) => shown.asked[one]);
  const answer = onPage(axes);
  const isRest = (code, at) => ticked[places[at]].has(code) !== (places[at] === place);
  return remainder(part, all, axes, answer, records(axes, answer).filter(({ codes }) => codes.every(isRest)));
}

/** The bounds of the sum of some lines of a table; null if the page cannot compute them.
 *
 * The errors within a measured table are known with their covariances. Where cells that are known break the product of categories, those of two
 * noisy lines follow from the rule of `adding` in the Python source: known cells have no errors, so they add to both bounds what they count. */
function endsOfSum(axes, answer, found) {
  if (answer?.source !== "measured") return null;
  const noisy = found.filter((row) => !row.known).length;
  const codes = axes.map((_, at) => [...new Set(found.map((row) => row.codes[at]))]);
  const half = noisy === found.length ? halfOfSum(axes, codes) : null;
  if (half !== null) return boundsAround(sumOfCounts(found), half);
  return noisy === 1 || noisy === 2 ? ["low", "high"].map((name) => found.reduce((sum, row) => sum + row[name], 0)) : null;
}

/** The places of the attributes of which only some categories have lines. */
const limited = () => ticked.flatMap((codes, place) => (codes.size && codes.size < sizes[shown.asked[place]] && !isContrasted(place) ? [place] : []));

/** The ticked categories of an attribute in words; their number if they are many. */
function tickedIn(place, most = MOST_TOLD) {
  const parts = tickedParts(place);
  if (!parts.length) return "all categories";
  if (parts.length === 1) return parts[0];
  return parts.length > most ? `${ticked[place].size} of ${sizes[shown.asked[place]]} categories` : either(parts);
}

/** Two bands side by side as one, such as "18 or more"; null for others. */
function joinedBands(one, other) {
  const [first, second] = [one, other].map(limitsOf);
  const [low, high] = [first?.from ?? first?.start, second?.stop];
  const inner = [first?.end ?? first?.stop, second?.from ?? second?.start];
  if (inner[0] === undefined || inner[0] !== inner[1]) return null;
  if (high === undefined) return low === undefined ? "any number" : `${low} or more`;
  return low === undefined ? `${second.between === " to " ? "up to" : "under"} ${high}` : `${low}${second.between}${high}`;
}

/** Some categories of an attribute, by default the ticked ones, where bands side by side are one. */
function tickedParts(place, codes = [...ticked[place]], { labels } = data.attributes[shown.asked[place]]) {
  const { banded } = data.attributes[shown.asked[place]];
  const parts = [];
  let before = null;
  for (const code of codes.sort((one, other) => one - other)) {
    const joint = banded && before === code - 1 ? joinedBands(parts.at(-1), labels[code]) : null;
    if (joint === null) parts.push(labels[code]);
    else parts[parts.length - 1] = joint;
    before = code;
  }
  return parts;
}

/** What the lines have that are shown, in words; of an attribute with more than `most` ticked categories only their number. */
const condition = (most = MOST_TOLD, places = conditioned()) => places.map((place) => `${nameOf(shown.asked[place])}: ${tickedIn(place, most)}`).join("; ");

/** Which lines are chosen, in words for a file: those with the ticked categories of each attribute, and what is together. */
function chosenLines() {
  const places = [...ticked.keys()].filter((place) => ticked[place].size);
  const how = (place) => (isContrasted(place) ? ", and all others together" : together().includes(place) ? ", together as one" : "");
  return places.map((place) => `${nameOf(shown.asked[place])}: ${tickedIn(place, Infinity)}${how(place)}`).join("; ");
}

/** Whether the ticked categories of an attribute have one line, and all others another one. */
const isContrasted = (place) => contrasted[place] && ticked[place].size > 0 && ticked[place].size < sizes[shown.asked[place]];

/** Whether the ticked categories of an attribute have one line. */
const isJoined = (place) => joined[place] || isContrasted(place);

/** The places of the attributes of which categories are put together as one. */
const together = () => ticked.flatMap((codes, place) => ((isJoined(place) && codes.size > 1) || isContrasted(place) ? [place] : []));

/** The places of the attributes whose ticked categories say which rows the lines count. */
const conditioned = () => [...new Set([...limited(), ...together().filter((place) => !isContrasted(place))])].sort((one, other) => one - other);

/** The categories of an attribute that are not ticked. */
const others = (place) => [...data.attributes[shown.asked[place]].labels.keys()].filter((code) => !ticked[place].has(code));

/** The code that a category has in the lines: at the places in `joint`, the chosen categories have the first of their codes, and so have all others if
 * these are together. */
function codeAt(place, code, joint) {
  if (!joint.includes(place)) return code;
  if (ticked[place].has(code)) return Math.min(...ticked[place]);
  return isContrasted(place) ? others(place)[0] : code;
}

/** Some categories as one, in words. Those with an "or" or a comma of their own are in quotes. */
function either(parts) {
  const isPlain = parts.length === 1 || parts.every((part) => !/,| or /.test(part));
  return new Intl.ListFormat("en", { type: "disjunction" }).format(isPlain ? parts : parts.map((part) => `“${part}”`));
}

/** The name of the categories of an attribute that are together: the ticked ones or, for a line with the code of another one, all others. */
function joinedName(place, most = MOST_TOLD, code = Math.min(...ticked[place]), form = data.attributes[shown.asked[place]]) {
  const isOthers = !ticked[place].has(code);
  const parts = tickedParts(place, isOthers ? others(place) : undefined, form);
  if (parts.length <= most) return either(parts);
  return isOthers ? `the other ${others(place).length} categories` : tickedIn(place);
}

/** The lines of a table of the attributes at some places of the shown one: the chosen categories at the places in `joint` have one line, their sum. */
function merged(rows, places, answer, joint) {
  if (!places.some((place) => joint.includes(place))) return rows;
  const axes = places.map((place) => shown.asked[place]);
  const groups = new Map();
  for (const row of rows) {
    const codes = row.codes.map((code, at) => codeAt(places[at], code, joint));
    const name = codes.join(",");
    if (!groups.has(name)) groups.set(name, { codes, parts: [] });
    groups.get(name).parts.push(row);
  }
  // A sum over all categories of an attribute is a line of the table without it, which may have been measured.
  const left = places.filter((place) => !joint.includes(place) || isContrasted(place) || ticked[place].size < sizes[shown.asked[place]]);
  const smaller = left.length < places.length ? linesAt(left, joint) : new Map();
  return [...groups.values()].map(({ codes, parts }) => {
    if (parts.length === 1) return parts[0];
    const isJoint = (at) => joint.includes(places[at]);
    const labels = parts[0].labels.map((label, at) => (isJoint(at) ? joinedName(places[at], MOST_TOLD, codes[at]) : label));
    const full = fileLabels(axes, codes).map((label, at) => (isJoint(at) ? joinedName(places[at], Infinity, codes[at], inFiles[axes[at]]) : label));
    const row = { labels, full, codes };
    const known = parts.every((part) => part.known);
    const count = sumOfCounts(parts);
    const ends = known ? boundsAround(count, 0) : endsOfSum(axes, answer, parts);
    if (ends) return { ...row, count, low: ends[0], high: ends[1], known };
    const same = smaller.get(left.map((place) => codes[places.indexOf(place)]).join(","));
    if (!same || !isKnown(same.low)) return { ...row, count, low: NaN, high: NaN, known };
    const { source, low, high } = same;
    return { ...row, count: same.count, low, high, known: same.known ?? false, source, from: namesAt(left) };
  });
}

/** The lines whose categories are ticked, in every attribute with ticks; those of categories that are together are one line. */
function matching() {
  const rows = shown.rows.filter(({ codes }) => ticked.every((some, place) => !some.size || isContrasted(place) || some.has(codes[place])));
  return merged(rows, [...shown.asked.keys()], shown.answer, together());
}

/** The lines to show, in their order. Categories are in their declared order. */
function inOrder() {
  const sumOf = sums();
  const partOf = (row) => shareIn(row, sumOf);
  const rows = matching();
  const { column, descending } = sorted;
  if (column === null) return rows;
  const value = typeof column === "number" ? (row) => row.codes[column] : column === "share" ? partOf : (row) => row[column];
  return rows.sort((one, other) => (descending ? value(other) - value(one) : value(one) - value(other)));
}

/** The places of the attributes that have the same category in all lines: one category is chosen, or several are put together. */
const alike = () => conditioned().filter((place) => ticked[place].size === 1 || together().includes(place));
