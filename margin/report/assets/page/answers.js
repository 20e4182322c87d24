// Tables of counts from what the page holds, with half the widths of their bounds.

const decoded = new Map();

/** Little-endian doubles in base 64. */
function doubles(text) {
  if (!decoded.has(text)) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    decoded.set(text, Float64Array.from({ length: bytes.length / 8 }, (_, place) => view.getFloat64(8 * place, true)));
  }
  return decoded.get(text);
}

const product = (numbers) => numbers.reduce((all, one) => all * one, 1);
const key = (axes) => [...axes].sort((a, b) => a - b).join(",");

/** Sum a table over the axes that are not asked for; the result has its axes in the asked order. */
function project(counts, axes, asked) {
  const strides = new Array(axes.length).fill(0);
  let stride = 1;
  for (const axis of [...asked].reverse()) {
    if (axes.includes(axis)) strides[axes.indexOf(axis)] = stride;
    stride *= sizes[axis];
  }
  const result = new Float64Array(stride);
  const position = new Array(axes.length).fill(0);
  let target = 0;
  for (const count of counts) {
    result[target] += count;
    for (let place = axes.length - 1; place >= 0; place -= 1) {
      position[place] += 1;
      target += strides[place];
      if (position[place] < sizes[axes[place]]) break;
      target -= strides[place] * sizes[axes[place]];
      position[place] = 0;
    }
  }
  return result;
}

/** The share of one answer along an axis of n categories in a sum of m of them: see `ComponentErrors.concentration_of` in the Python source.
 *
 * The n answers have the weights 1 - m / n, m times, and -m / n. Two categories have one answer, their difference. */
function answerShare(n, m) {
  if (n <= 2) return 1;
  const part = m / n;
  const squares = m * (1 - part) ** 2 + (n - m) * part ** 2;
  return (m * (1 - part) ** 4 + (n - m) * part ** 4) / squares ** 2;
}

/** The variance of a sum of cells of a marginal of a view, and the sum of the squares of the shares that the answers on
 * components have in it: see `covered_covariance` and `Tables.component_concentration` in the Python source.
 *
 * The sum is over a number of categories of each axis, by default one: then it is a cell. */
function coveredVariance(view, asked, many = asked.map(() => 1)) {
  const precision = doubles(view.precision);
  const places = asked.map((axis) => view.axes.indexOf(axis));
  let sum = 0;
  let squares = 0;
  for (let part = 0; part < 1 << asked.length; part += 1) {
    const functions = product(asked.map((axis, place) => many[place] * (part >> place & 1 ? sizes[axis] - many[place] : many[place])));
    const mask = places.reduce((all, own, place) => (part >> place & 1 ? all | 1 << own : all), 0);
    if (functions) {
      const own = functions / precision[mask];
      sum += own;
      squares += own ** 2 * product(asked.map((axis, place) => (part >> place & 1 ? answerShare(sizes[axis], many[place]) : 1)));
    }
  }
  const variance = sum / product(asked.map((axis) => sizes[axis])) ** 2;
  return { variance, ofComponents: sum > 0 ? squares / sum ** 2 : 0 };
}

/** Half the width of the interval of a sum of cells of a marginal of a view: see `Tables.concentration`. */
function halfWidthOf({ variance, ofComponents }, asked, number = 1) {
  const cells = product(asked.map((axis) => sizes[axis]));
  let concentration = data.by_components ? ofComponents : 0;
  for (const table of data.measured) {
    if (asked.every((axis) => table.axes.includes(axis))) {
      const summed = number * product(table.axes.map((axis) => sizes[axis])) / cells;
      concentration += variance ** 2 / (summed ** 3 * table.variance ** 2);
    }
  }
  return halfWidth(variance, concentration);
}

/** Half the width of the interval of a number: see `half_widths` in the Python source. Gaussian noise has the concentration 0. */
function halfWidth(variance, concentration) {
  const normal = QUANTILE * Math.sqrt(variance);
  if (concentration === 0 || variance === 0) return normal;
  const rate = 2 * Math.asinh(Math.sqrt(1 / (2 * variance)));
  const single = Math.log(2 / ((1 - LEVEL) * (1 + Math.exp(-rate)))) / rate;
  const kurtosis = Math.min(3 * Math.min(concentration, 1) + 1 / variance, 3);
  const share = 8 * kurtosis / (15 + 3 * kurtosis);
  return share * single + (1 - share) * (normal + Math.min(normal, 0.5));
}

/** The categories of an attribute that belong to some categories of an axis, which may be a level of it. */
function leavesOf(axis, codes) {
  const { leaves } = data.attributes[axis];
  if (!leaves) return codes;
  const start = (node) => leaves.slice(0, node).reduce((sum, one) => sum + one, 0);
  return codes.flatMap((node) => Array.from({ length: leaves[node] }, (_, place) => start(node) + place));
}

/** For the sum over some categories of an attribute, the sums of the squares and of the fourth powers of the weights of its own answers, and the weight
 * of the answers without it: see `ComponentErrors` in the Python source. */
function answerWeights(axis, codes) {
  const size = sizes[axis];
  const inverse = data.errors.inverses[axis];
  const part = codes.length / size;
  const powers = (weights) => [2, 4].map((power) => weights.reduce((sum, one) => sum + one ** power, 0));
  if (inverse) {
    const [spread, ...weights] = inverse[0].map((_, column) => codes.reduce((sum, code) => sum + inverse[code][column], 0));
    return { own: powers(weights), spread };
  }
  // Two categories have one answer, their difference.
  if (size === 2) return { own: powers([codes.length === 1 ? 1 / 2 : 0]), spread: part };
  const weights = Array.from({ length: size }, (_, place) => ((place < codes.length ? 1 : 0) - part) / size);
  return { own: powers(weights), spread: part };
}

/** The variance of the number of rows with some categories of each of some attributes that were measured in bases of their own, and how far its error is
 * that of few answers: see `ComponentErrors.concentration_of` in the Python source. */
function componentErrors(axes, chosen) {
  const weights = axes.map((axis, at) => answerWeights(axis, chosen[at]));
  let variance = 0;
  let fourth = 0;
  for (const [component, own] of data.errors.variances) {
    if (!component.every((axis) => axes.includes(axis))) continue;
    const within = axes.map((axis) => component.includes(axis));
    variance += own * product(weights.map((one, at) => (within[at] ? one.own[0] : one.spread ** 2)));
    fourth += own ** 2 * product(weights.map((one, at) => (within[at] ? one.own[1] : one.spread ** 4)));
  }
  return { variance, concentration: data.errors.is_laplace && variance > 0 ? fourth / variance ** 2 : 0 };
}

/** Half the width of the interval of the number of rows with some categories of each axis of a measured table; null if the page cannot compute it. */
function halfOfSum(axes, codes) {
  // All categories of an attribute are no condition.
  const places = [...axes.keys()].filter((at) => codes[at].length < sizes[axes[at]]);
  const own = places.map((at) => attributeOf(axes[at]));
  const chosen = places.map((at) => leavesOf(axes[at], codes[at]));
  const hasLevels = axes.some((axis) => axis !== attributeOf(axis));
  // Cells that must be zero have the weight 0. A category of a level may have some and others, so that its weights are no product.
  if (!data.sums || (hasLevels && data.views.some((view) => view.empty.length))) return null;
  if (data.errors) {
    const { variance, concentration } = componentErrors(own, chosen);
    return halfWidth(variance, concentration);
  }
  const view = data.views.find((one) => own.every((axis) => one.axes.includes(axis)));
  if (!view) return null;
  const many = chosen.map((some) => some.length);
  return halfWidthOf(coveredVariance(view, own, many), own, product(many));
}

/** A marginal of a view. A sum of cells that must be zero is zero, without noise. */
function covered(view, asked) {
  const counts = project(doubles(view.counts), view.axes, asked);
  const halfWidths = new Float64Array(counts.length).fill(halfWidthOf(coveredVariance(view, asked), asked));
  if (view.empty.length) {
    const possible = new Float64Array(product(view.axes.map((axis) => sizes[axis]))).fill(1);
    view.empty.forEach((cell) => { possible[cell] = 0; });
    project(possible, view.axes, asked).forEach((some, cell) => {
      if (some === 0) { counts[cell] = 0; halfWidths[cell] = 0; }
    });
  }
  return { counts, halfWidths, source: halfWidths.some((one) => one !== 0) ? "measured" : "known" };
}

function fromAnswer(answer, asked) {
  return {
    counts: project(doubles(answer.counts), answer.axes, asked),
    halfWidths: project(doubles(answer.half_widths), answer.axes, asked),
    source: answer.source,
    apart: answer.apart,
  };
}

const answers = new Map(data.answers.map((answer) => [key(answer.axes), answer]));
const cellsOf = (view) => product(view.axes.map((axis) => sizes[axis]));

/** The smallest measured view that holds the asked axes; null if none does. */
function coveringView(asked) {
  return data.views
    .filter((view) => view.counts && asked.every((axis) => view.axes.includes(axis)))
    .reduce((best, view) => (best === null || cellsOf(view) < cellsOf(best) ? view : best), null);
}

/** Whether this page alone can answer a marginal. */
const answerable = (asked) => coveringView(asked) !== null || answers.has(key(asked));

/** The marginal on some axes, and its source; null if this page does not hold it. */
function onPage(asked) {
  const covering = coveringView(asked);
  if (covering) return covered(covering, asked);
  const known = answers.get(key(asked));
  return known ? fromAnswer(known, asked) : null;
}

/** The marginal on some axes, and its source; null if neither the page nor a server has it. */
async function marginal(asked) {
  const known = onPage(asked);
  if (known || !data.live) return known;
  const query = new URLSearchParams(asked.map((axis) => ["attribute", columnOf(axis)]));
  const reply = await fetch(`/marginal?${query}`);
  const answer = await reply.json();
  if (!reply.ok) return { error: answer.error };
  return fromAnswer(answer, asked);
}

/** Bounds, rounded outwards to whole numbers: see `whole_bounds` in the Python source. */
function wholeBounds(low, high) {
  return [Math.floor(low + ROUNDING), Math.ceil(high - ROUNDING)];
}

/** The bounds of a count, as whole numbers, from half the width of its interval. */
const boundsAround = (count, half) => wholeBounds(Math.min(Math.max(count - half, 0), count), Math.max(count + half, 0));

/** One record per cell, in the order of the table. Its bounds are whole numbers. */
function records(asked, answer) {
  return Array.from(answer.counts, (count, cell) => {
    const labels = new Array(asked.length);
    const codes = new Array(asked.length);
    let rest = cell;
    for (let place = asked.length - 1; place >= 0; place -= 1) {
      codes[place] = rest % sizes[asked[place]];
      labels[place] = data.attributes[asked[place]].labels[codes[place]];
      rest = Math.floor(rest / sizes[asked[place]]);
    }
    const half = answer.halfWidths[cell];
    const [low, high] = boundsAround(count, half);
    return { labels, codes, count, low, high, known: half === 0 };
  });
}
