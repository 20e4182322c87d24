"""Numbers of one release are subtracted with the errors that they share, and never as if they were
of two releases."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import margin
from margin import DomainError, PriView
from margin.synopses import Count, Difference, Ratio

DOMAIN = margin.Domain({"a": 2, "b": 3, "c": 2, "d": 2})
VIEWS = [["a", "b", "c"], ["c", "d"]]
ROWS = 4000
SEEDS = 120


def codes():
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, ROWS)
    return np.column_stack([(kind + rng.integers(0, 3, ROWS)) % size for size in DOMAIN.sizes])


def made(seed=0, rows=codes(), budget=margin.ZCDP("0.1")):
    mechanism = PriView(views=VIEWS)
    return margin.simulate(rows, domain=DOMAIN, budget=budget, mechanism=mechanism, seed=seed)


QUESTIONS = {
    "two groups": (({"a": 1, "b": 0}, {"b": 0}), ({"a": 1, "b": 2}, {"b": 2})),
    "one denominator": (({"a": 1}, {}), ({"a": 0}, {})),
    "a part and the whole": (({"a": 1, "b": 0}, {"b": 0}), ({"a": 1}, {})),
    "two views": (({"a": 1, "c": 0}, {"c": 0}), ({"d": 1, "c": 1}, {"c": 1})),
    "reconstructed": (({"a": 1, "d": 0}, {"d": 0}), ({"a": 1, "d": 1}, {"d": 1})),
}


def covariances(synopsis, wheres):
    """Those of counts, from the variances of counts and of their differences."""
    found = np.zeros((len(wheres), len(wheres)))
    for row, column in itertools.product(range(len(wheres)), repeat=2):
        one, other = (synopsis.count(wheres[place]).variance for place in (row, column))
        less = synopsis.difference(wheres[row], wheres[column]).variance
        found[row, column] = (one + other - less) / 2
    return found


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_difference_of_ratios_has_the_covariances_of_all_four_counts(question):
    synopsis = made().synopsis
    one, other = (synopsis.ratio(*pair) for pair in question)
    difference = one - other
    assert difference.estimate == one.estimate - other.estimate
    assert isinstance(difference, Difference)
    wheres = [where for pair in question for where in pair]
    gradient = []
    for ratio, sign in ((one, 1), (other, -1)):
        bottom = ratio.denominator.estimate
        gradient += [sign / bottom, -sign * ratio.estimate / bottom]
    variance = gradient @ covariances(synopsis, wheres) @ np.array(gradient)
    assert difference.variance == pytest.approx(variance, rel=1e-4)
    assert difference.reconstructed == one.reconstructed


@pytest.mark.parametrize("name", ["two groups", "one denominator", "a part and the whole"])
def test_the_variance_of_a_difference_of_shares_is_that_of_its_error(name):
    """The squares of the errors, divided by their variances, add up to a chi-square of as many
    degrees as there are seeds: false alarms of 1e-6."""
    rows = codes()

    def share(where, of):
        inside = [
            np.all([rows[:, DOMAIN.position[key]] == code for key, code in one.items()], axis=0)
            if one
            else np.ones(len(rows), np.bool_)
            for one in (where, of)
        ]
        return inside[0].sum() / inside[1].sum()

    truth = share(*QUESTIONS[name][0]) - share(*QUESTIONS[name][1])
    squares = []
    for seed in range(SEEDS):
        synopsis = made(seed).synopsis
        one, other = (synopsis.ratio(*pair) for pair in QUESTIONS[name])
        difference = one - other
        squares.append((difference.estimate - truth) ** 2 / difference.variance)
    law = stats.chi2(SEEDS)
    assert law.ppf(5e-7) < sum(squares) < law.isf(5e-7)


def test_counts_and_differences_are_subtracted_too():
    synopsis = made().synopsis
    wheres = [{"a": 0, "b": 0}, {"a": 1, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 1}]
    counts = [synopsis.count(where) for where in wheres]
    one = synopsis.difference(wheres[0], wheres[1])
    assert counts[0] - counts[1] == one
    # The difference of two differences has the errors of all four.
    both = one - synopsis.difference(wheres[2], wheres[3])
    signs = np.array([1, -1, -1, 1])
    variance = signs @ covariances(synopsis, wheres) @ signs
    assert both.variance == pytest.approx(variance)
    assert both.estimate == pytest.approx(signs @ [count.estimate for count in counts])


def test_laplace_noise_in_a_difference_keeps_heavier_tails():
    synopsis = made(budget=margin.PureDP(1)).synopsis
    one, other = (synopsis.ratio(*pair) for pair in QUESTIONS["two groups"])
    assert 0 < (one - other).noise_kurtosis <= 3


def test_a_share_of_too_few_rows_gives_a_difference_without_bounds():
    rows = codes()[:60]
    synopsis = made(rows=rows, budget=margin.ZCDP("0.01")).synopsis
    one = synopsis.ratio({"a": 1, "b": 0, "c": 0}, {"b": 0, "c": 0})
    other = synopsis.ratio({"a": 1}, {})
    assert one.is_uncertain and not math.isnan(one.interval(0.95)[0])
    assert all(map(math.isnan, (one - other).interval(0.95)))


def same(how, tmp_path):
    """A synopsis of a release, and another object that holds the same noise."""
    synopsis = made().synopsis
    if how == "itself":
        return synopsis, synopsis
    if how == "another solver":
        return synopsis, synopsis.with_reconstruction(margin.solvers.IPF())
    synopsis.save(tmp_path / "x.margin")
    both = [margin.load(tmp_path / "x.margin", allow_simulation=True).synopsis for _ in range(2)]
    return both[0], both[1]


@pytest.mark.parametrize("how", ["itself", "another solver", "a file"])
@pytest.mark.parametrize("kind", ["count", "ratio"])
def test_numbers_of_one_release_are_no_change_between_releases(how, kind, tmp_path):
    first, second = same(how, tmp_path)
    asked = ({"a": 1},) if kind == "count" else ({"a": 1}, {})
    one, other = (getattr(synopsis, kind)(*asked) for synopsis in (first, second))
    with pytest.raises(DomainError, match=r"of the same release.* later - earlier allows for that"):
        Difference.between_releases(one, other)
    nothing = one - other
    assert nothing.estimate == 0 and nothing.variance == pytest.approx(0, abs=1e-9)


def test_numbers_of_two_releases_are_not_subtracted():
    one, other = (made(seed).synopsis for seed in (0, 1))
    assert Difference.between_releases(one.count({}), other.count({})).variance > 0
    with pytest.raises(DomainError, match=r"of two; .*between_releases\(earlier, later\)"):
        other.count({}) - one.count({})


def test_what_has_no_difference_is_refused():
    synopsis = made().synopsis
    count, ratio = synopsis.count({"a": 1}), synopsis.ratio({"a": 1}, {})
    assert isinstance(ratio, Ratio)
    for one, other in itertools.permutations([count, ratio]):
        with pytest.raises(DomainError, match="one number is a ratio"):
            one - other
    with pytest.raises(DomainError, match="was made without one"):
        count - Count(estimate=1.0, noise_variance=1.0)
    with pytest.raises(TypeError):
        count - 1.0


NUMBERS = {0: 0.0, 1: 2.0, 2: 7.5}


@pytest.mark.parametrize("where", [{}, {"a": 1}, {"c": 0, "a": [0]}, {"b": [0, 2]}, {"d": 1}])
def test_a_mean_has_the_covariances_of_its_counts(where):
    synopsis = made().synopsis
    found = synopsis.mean("b", NUMBERS, where)
    kept = {code: NUMBERS[code] for code in where.get("b", NUMBERS)}
    wheres = [{**where, "b": code} for code in kept]
    counts = np.array([synopsis.count(one).estimate for one in wheres])
    values = np.array([*kept.values()])
    assert found.estimate == pytest.approx(values @ counts / counts.sum())
    gradient = (values - found.estimate) / counts.sum()
    variance = gradient @ covariances(synopsis, wheres) @ gradient
    assert found.variance == pytest.approx(variance, rel=1e-3)
    assert found.reconstructed == ("d" in where)


WEIGHTS = {0: 150.0, 1: 400.0, 2: 650.0}


@pytest.mark.parametrize("where", [{}, {"a": 1}, {"c": 0, "a": [0]}, {"b": [0, 2]}, {"d": 1}])
@pytest.mark.parametrize("per", [None, {}, {"a": 1}, {"b": [1, 2]}])
def test_a_weighted_number_has_the_covariances_of_its_counts(where, per):
    synopsis = made().synopsis
    found = synopsis.weighted("b", WEIGHTS, where, per=per)
    asked = [
        (weight, {**rows, "b": code}, is_below)
        for rows, is_below in [(where, False), *([] if per is None else [(per, True)])]
        for code, weight in WEIGHTS.items()
        if code in rows.get("b", WEIGHTS)
    ]
    wheres = [rows for _, rows, _ in asked]
    counts = np.array([synopsis.count(rows).estimate for rows in wheres])
    values = np.array([weight for weight, *_ in asked])
    below = np.array([is_below for *_, is_below in asked])
    top, bottom = values[~below] @ counts[~below], values[below] @ counts[below]
    expected, gradient = top, values
    if per is not None:
        expected = top / bottom
        gradient = np.where(below, -expected * values, values) / bottom
    # Counts that are reconstructed together differ a little from those that are asked one by one.
    near, nearly = (1e-3, 0.1) if "d" in where else (1e-9, 1e-3)
    assert found.estimate == pytest.approx(expected, rel=near)
    variance = gradient @ covariances(synopsis, wheres) @ gradient
    assert found.variance == pytest.approx(variance, rel=nearly, abs=1e-9 * expected**2)


def test_the_variance_of_a_weighted_number_is_that_of_its_error():
    """Of a total, of a share, and of the difference of two shares."""
    column = {name: codes()[:, axis] for axis, name in enumerate(DOMAIN)}
    weight = np.array([WEIGHTS[code] for code in column["b"]])
    chosen = column["c"] == 0
    groups = [column["a"] == code for code in (0, 1)]
    shares = [weight[chosen & group].sum() / weight[group].sum() for group in groups]
    truths = [weight[chosen].sum(), shares[0], shares[0] - shares[1]]
    squares = np.zeros(3)
    for seed in range(SEEDS):
        synopsis = made(seed).synopsis
        one, other = (
            synopsis.weighted("b", WEIGHTS, {"c": 0, "a": code}, per={"a": code}) for code in (0, 1)
        )
        all_found = [synopsis.weighted("b", WEIGHTS, {"c": 0}), one, one - other]
        for place, (found, truth) in enumerate(zip(all_found, truths, strict=True)):
            squares[place] += (found.estimate - truth) ** 2 / found.variance
    law = stats.chi2(SEEDS)
    assert all(law.ppf(1e-7) < squares) and all(squares < law.isf(1e-7))


def test_weighted_numbers_without_bounds_or_rows():
    few = made(rows=codes()[:30], budget=margin.ZCDP("0.001")).synopsis
    share = few.weighted("b", WEIGHTS, {"a": 1, "c": 0}, per={"a": 1})
    assert math.isnan(share.interval()[0])
    with pytest.raises(DomainError, match="need a category with a number among the rows"):
        few.weighted("b", {0: 1.0}, {}, per={"b": 2})
    with pytest.raises(DomainError, match="must have a finite number"):
        few.weighted("b", {0: math.nan})


def test_the_variance_of_a_mean_is_that_of_its_error():
    """As for shares above; and of the difference of two means."""
    column = {name: codes()[:, axis] for axis, name in enumerate(DOMAIN)}
    values = np.array([NUMBERS[code] for code in column["b"]])
    truths = [values[column["a"] == code].mean() for code in (0, 1)]
    squares = np.zeros(2)
    for seed in range(SEEDS):
        synopsis = made(seed).synopsis
        one, other = (synopsis.mean("b", NUMBERS, {"a": code}) for code in (0, 1))
        pairs = [(one, truths[0]), (one - other, truths[0] - truths[1])]
        squares += [(found.estimate - truth) ** 2 / found.variance for found, truth in pairs]
    law = stats.chi2(SEEDS)
    assert all(law.ppf(5e-7) < squares) and all(squares < law.isf(5e-7))


def test_a_mean_of_bins_takes_their_middles():
    form = {"bins": [0, 10, 30, math.inf], "missing": "?"}
    rows = {"x": [5.0] * 300 + [20.0] * 100 + [None] * 50}
    budget = margin.PureDP(50)
    synopsis = margin.release(rows, domain={"x": form}, budget=budget)
    with pytest.raises(DomainError, match=r"'\[30, inf\]' of 'x' must have a finite number"):
        synopsis.mean("x")
    found = synopsis.mean("x", {"0 to under 10": 5, "[10, 30)": 20})
    assert found.interval()[0] <= 8.75 <= found.interval()[1] and abs(found.estimate - 8.75) < 0.1
    closed = margin.release(rows, domain={"x": {**form, "bins": [0, 10, 30]}}, budget=budget)
    assert closed.mean("x").estimate == pytest.approx(8.75, abs=0.1)
    with pytest.raises(DomainError, match="are no bins"):
        made().synopsis.mean("b")
    with pytest.raises(DomainError, match="need a category with a number among the rows"):
        made().synopsis.mean("b", {0: 1.0}, {"b": 2})
    for wrong in ({}, [1, 2], {0: "1"}):
        with pytest.raises(DomainError, match=r"must be a mapping|must have a finite number"):
            made().synopsis.mean("b", wrong)
    few = made(rows=codes()[:30], budget=margin.ZCDP("0.001")).synopsis
    assert math.isnan(few.mean("b", NUMBERS, {"a": 1, "c": 0}).interval()[0])


@pytest.mark.parametrize(
    ("bins", "numbers"),
    [
        ([0, 1, 2, 5], [0, 1, 3.5]),
        ([0.5, 3, 3.5], [1.5, 3]),
        ([-3, -1, 0, 0.5], [-2.5, -1, 0]),
    ],
)
def test_the_middle_of_whole_numbers_in_a_bin_is_that_of_those_in_it(bins, numbers):
    """The whole numbers of a bin are those that the domain counts there."""
    domain = margin.Domain({"x": {"bins": bins, "other": "others"}})
    values = np.arange(-9, 10)
    held = np.array([domain["x"].category(int(value)) for value in values])
    for code, number in enumerate(numbers):
        assert values[held == code].mean() == number
    rows = {"x": np.repeat(values, 20)}
    made = margin.release(rows, domain=domain, budget=margin.PureDP(5))
    stated = dict(zip(domain["x"].labels, numbers, strict=False))
    assert made.mean("x", whole=True) == made.mean("x", stated)


def test_whole_numbers_are_refused_where_they_say_nothing():
    rows = {"x": [0.1] * 30, "y": [1] * 30}
    domain = {"x": {"bins": [0, 0.2, 0.8, 1]}, "y": {"bins": [0, None]}}
    synopsis = margin.release(rows, domain=domain, budget=margin.PureDP(1))
    with pytest.raises(DomainError, match=r"from 0\.2 to 0\.8 holds no whole number"):
        synopsis.mean("x", whole=True)
    with pytest.raises(DomainError, match="a bin without a limit has no middle"):
        synopsis.mean("y", whole=True)
    with pytest.raises(DomainError, match="numbers are stated"):
        synopsis.mean("y", {"0 or more": 1}, whole=True)


NOT_WHOLE = {
    "shares": lambda one, _: (
        one.ratio(*QUESTIONS["two groups"][0]) - one.ratio(*QUESTIONS["two groups"][1])
    ),
    "means": lambda one, _: one.mean("b", {0: 0.001, 1: 0.002, 2: 0.004}),
    "the change of a share": lambda one, other: Difference.between_releases(
        *(each.ratio({"a": 1}, {}) for each in (one, other))
    ),
    "the change of a mean": lambda one, other: Difference.between_releases(
        *(each.mean("b", {0: 0.001, 1: 0.002, 2: 0.004}) for each in (one, other))
    ),
}


@pytest.mark.parametrize("budget", [margin.ZCDP("0.1"), margin.PureDP(1)], ids=repr)
@pytest.mark.parametrize("number", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_numbers_that_are_not_whole_have_no_room_for_a_row(budget, number):
    """Their half-width is between that of normal noise, 1.96 deviations, and that of a single draw
    of Laplace noise, 2.12. That of a difference of counts allows for steps of a row."""
    one, other = (made(seed, budget=budget).synopsis for seed in (1, 2))
    found = number(one, other)
    low, high = found.interval(0.95)
    assert 1.95 < (high - low) / 2 / math.sqrt(found.variance) < 2.13
    counts = one.difference({"a": 1}, {"a": 0})
    assert not found.is_whole and counts.is_whole


def test_a_release_of_few_rows_has_the_width_of_whole_rows():
    """The noise of two tables of one row each, with variances below 1: the bounds are steps."""
    less = Count(estimate=3.0, noise_variance=0.1, noise_kurtosis=3.0)
    change = Difference.between_releases(less, less)
    assert change.is_whole
    low, high = change.interval(0.95)
    assert (high - low) / 2 > 2.13 * math.sqrt(change.variance)
