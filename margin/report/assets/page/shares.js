// Shares of the lines of the table, and their bounds.

/** The sums of which the percentages are shares, for each line. Chosen categories are one at the places in `joint`. */
function sums(joint = together()) {
  const found = new Map();
  const group = (row) => within.map((place) => codeAt(place, row.codes[place], joint)).join(",");
  for (const row of shown.rows) found.set(group(row), (found.get(group(row)) ?? 0) + row.count);
  return (row) => found.get(group(row));
}

/** The share of some rows in others; null if the number of these is 0 as shown: nobody has no percentages. */
const shareOfNumber = (part, all) => (shownNumber(all) > 0 ? part / all : null);

/** The share of a line in the sum of `sums`. */
const shareIn = (row, sumOf) => shareOfNumber(row.count, sumOf(row));

/** A share as text. */
const percentOf = (share) => (share === null ? "–" : percent.format(share));

const downwards = percents("floor");
const upwards = percents("ceil");

/** The bounds of the share of some rows in others, as `sharing` explains them; null without a share, or where bounds are not known.
 *
 * Let p and T be the true numbers, with p in T, so 0 <= p <= T. The share is p / T if T > 0, and there is none otherwise. If the bounds
 * of both hold, then p >= part.low and T <= all.high, so p / T >= part.low / all.high; and p <= part.high and T >= all.low, so
 * p / T <= part.high / all.low if all.low > 0. Every share is from 0 to 1: so the high bound is 1 where all.low is 0.
 *
 * The share of the others, T - p, has such bounds as well, and 1 minus these are bounds of p / T, too. `rest` are the others; null if the page cannot
 * tell their bounds. The narrower ends of both are bounds that hold as often as either: a share r lies within the first ones if the error of
 * part.count - r all.count is at most the half-width of the part plus r times that of all, and within the others if it is at most that of the others
 * plus 1 - r times that of all. The errors are one and the same, since the counts of the part and of the others add up to that of all. Each of the two
 * limits is at least the half-width of this error, so the smaller one is, too. */
function shareBounds(part, all, rest) {
  // The comparisons are false for numbers that are not known, too.
  if (!(shownNumber(all.count) > 0 && all.high > 0) || !isKnown(part.low)) return null;
  const ofNumber = ({ low, high }) => [low / all.high, all.low > 0 ? high / all.low : 1].map((end) => Math.min(Math.max(end, 0), 1));
  const ends = ofNumber(part);
  if (!rest) return ends;
  const others = ofNumber(rest);
  return [Math.max(ends[0], 1 - others[1]), Math.min(ends[1], 1 - others[0])];
}

/** The number of rows that `all` has beside some of the lines of the table, from the lines of these rows; null where the page cannot tell its bounds, or
 * where its count and that of the part do not add up to all. */
function remainder(part, all, axes, answer, lines) {
  const count = sumOfCounts(lines);
  const ends = lines.length ? endsOfSum(axes, answer, lines) : null;
  // The number of all rows is held as a whole number.
  const addsUp = Math.abs(part.count + count - all.count) < 1;
  return ends && addsUp ? { low: ends[0], high: ends[1] } : null;
}

/** For each line, the other rows with the same categories of `within`, with their bounds, if these are all attributes but one. */
function restsAt(joint) {
  const [place, ...more] = [...shown.asked.keys()].filter((one) => !within.includes(one));
  if (place === undefined || more.length || sizes[shown.asked[place]] > MOST_BARS) return () => null;
  const name = (codes) => within.map((at) => codeAt(at, codes[at], joint)).join(",");
  const groups = new Map();
  for (const row of shown.rows) {
    if (!groups.has(name(row.codes))) groups.set(name(row.codes), []);
    groups.get(name(row.codes)).push(row);
  }
  const own = (codes) => codeAt(place, codes[place], joint);
  return (row, all) => {
    const others = groups.get(name(row.codes)).filter(({ codes }) => own(codes) !== own(row.codes));
    return remainder(row, all, shown.asked, shown.answer, others);
  };
}

/** The same as `shareBounds`, as texts. */
function shareEnds(part, all, rest) {
  const ends = shareBounds(part, all, rest);
  return ends && [downwards.format(ends[0]), upwards.format(ends[1])];
}

/** The share of each line with the bounds of it as texts, which are null where it has none. Chosen categories are one at the places in `joint`. */
function shares(joint = together()) {
  const sumOf = sums(joint);
  const wholeOf = wholesAt(within, joint);
  const restOf = restsAt(joint);
  const endsOf = (row, all) => shareEnds(row, all, restOf(row, all));
  return (row) => ({ share: shareIn(row, sumOf), ends: hasShareEnds() ? endsOf(row, wholeOf(row)) : null });
}

/** Whether the shares of the table have bounds. Those of estimates would invite to compare groups. */
const hasShareEnds = () => shown.source === "measured";
