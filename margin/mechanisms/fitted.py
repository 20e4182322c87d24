"""Constants that were fitted on tables, each with its unit and the tables.

Nothing here depends on the data of a release: all values were fixed before. The command
`python -m experiments.peers.zoo` fits the constants of the prices of `Auto` again, on half of the
families of generated tables. `docs/results.md` reports how well they work on tables that were not
used to fit them.
"""

from collections.abc import Mapping
from fractions import Fraction

# How strong structure is assumed to be (`choosing.strength`). The unit of a strength is the root
# of the mean square of a moment; moments are means of functions of mean square one.

SINGLES_STRENGTH = 0.1
"""Assumed strength of the structure in pairs of attributes when single attributes are measured.

Fitted on generated binary tables: mixtures, Bayesian networks and clicks, of 16 to 32 attributes.
"""

SHARED_MOMENTS = 128.0
"""Number of moments of a component beyond which its structure hardly grows with their number.

A component of m moments has the assumed mean square divided by 1 + m / `SHARED_MOMENTS`. Set on the
pairs of the tables of `experiments/peers/zoo.py`, the fitting half: their root mean square is 0.09
to 0.17 for up to 100 moments, 0.05 for 128 to 512, and 0.04 to 0.01 for 1,024 and more.
"""

PAIRS_STRENGTH: Mapping[str, float] = {"weak": 0.005, "medium": 0.02, "strong": 0.06}
"""Assumed strength of the structure beyond pairs when all pairs are measured, for each value of
`Auto(structure=)`.

Fitted on the tables of `SINGLES_STRENGTH`.
"""

TRIPLES_TO_PAIRS = 0.4
"""Strength of the structure beyond triples, divided by that beyond pairs; no unit.

Fitted on the tables of `SINGLES_STRENGTH`.
"""

WITH_CONTEXT = 0.8
"""Error of missing structure with context, divided by that without context; no unit.

Context means further attributes, beside the requested ones, over which an answer is reconstructed.
Fitted on two of the tables of `SINGLES_STRENGTH`.
"""

MOMENT_SIZE = 1.5
"""Root of the mean square of a moment on one attribute, after negative counts are removed.

It bounds the noise that is left in the moment. Fitted on the tables of `SINGLES_STRENGTH`.
"""

MOMENT_FALL = 0.45
"""Factor from `MOMENT_SIZE` on j attributes to the one on j + 1; no unit.

Fitted on the tables of `SINGLES_STRENGTH`.
"""

LEAST_LEFT = 0.3
"""Smallest share of the squared noise of a table that the removal of negative counts leaves; no
unit.

Set on the noise and the regret of candidates on generated tables (`experiments/peers/zoo.py`).
Kosarak was examined, too, when it was set.
"""

SPREAD = 0.8
"""Logarithm of the number of occupied cells of a table, divided by that of all its cells; no unit.

It is assumed before anything is learnt. Set as `LEAST_LEFT`.
"""

LEAST_SPREAD = 0.4
"""Smallest spread that is learnt; no unit.

If nearly all rows are equal, a smaller one makes large tables seem free of noise. Set on KDD Cup 99
at epsilon 0.1, where 0.02 gave 1.4 times the error; no other table of those tried changed.
"""

SPREAD_CELLS = 32.0
"""Number of cells of a table beyond which the share of occupied cells is taken to fall no more.

In larger tables the cut of the noise is a systematic error that outweighs what empty cells gain.
Set on the covers of KDD Cup 99 and the tables of `LEAST_LEFT`.
"""

SPREAD_BY_NOISE = 0.4
"""Power with which the logarithm of the share of empty cells falls when the mean count of a cell,
in standard deviations of its noise, grows; no unit. Set as `LEAST_LEFT`.
"""

# How certain the assumed strength is.

STRENGTH_DOUBT = 1.0
"""Standard deviation of the natural logarithm of a strength, before it is learnt.

The tables it was fitted on: not recorded.
"""

SPREAD_DOUBT = 0.25
"""Standard deviation of `SPREAD` before it is learnt; no unit.

From the generated tables of `experiments/peers/zoo.py`.
"""

TYPICAL_VARIATION = 0.7
"""Variance of an indicator of a category, summed and divided by that of equal counts, for which
`SINGLES_STRENGTH` is assumed; no unit.

If most rows have the same category, less can depend on it. From the same tables.
"""

VARIATION_DOUBT = 0.3
"""Standard deviation of the variation of an attribute about `TYPICAL_VARIATION`; no unit.

From the same tables.
"""

COMMON_DOUBT = 1.5
"""Standard deviation of the natural logarithm of a common factor of all strengths.

With two deviations each way the factors go from 1/20 to 20. The tables it was fitted on: not
recorded.
"""

LEAST_DOUBT = 0.5
"""Standard deviation of the natural logarithm of a common factor of all strengths, when the
strength of the structure in pairs is known exactly.

The only other value that was tried is `COMMON_DOUBT`. It was hardly worse on the fitting half of
the zoo, under pure differential privacy.
"""

LARGEST_STRENGTH = 0.5
"""Largest strength of the structure in pairs that is expected; no unit.

The tables of the fitting half of the zoo have up to 0.4.
"""

FOREST_TO_PAIRS = 0.4
"""Strength of the structure that a spanning tree misses, divided by that in pairs, when the latter
has been learnt; no unit.

On the tables of the fitting half of the zoo, with their best trees, it goes from 0.02 to 0.9, with
a geometric mean of 0.3. It was set on five of them and on a generated tree of twenty bits, where
0.3 chose a tree too often, and 0.5 too rarely.
"""

UNSEEN_SHARE = 0.05
"""Share of the parts that keep the assumed strength, whatever was learnt from the measured parts.

It is needed for tables such as the bits of KDD Cup 99, in which a few triples hold nearly all the
structure: without it the error of `Adaptive` was 3.5 times the error of the best candidate there.
The tables its value was fitted on: not recorded.
"""

# When learning pays (`choosing.probes`).

ENOUGH_NOISE = 0.015
"""Standard deviation of the noise in a moment of a 64-cell view that is small enough to learn from.

From n moments their mean square is learnt as well with n ** (1/4) times this noise. The tables it
was fitted on: not recorded.
"""

HIDDEN_SHARE = 0.35
"""Strength of a structure that is hidden by noise, divided by the noise in a moment; no unit.

The mean square of n moments is learnt from their noise up to a factor of about n ** (-1/2), and
some sixty moments of each order are compared.
"""

# The measurements after learning (`choosing.adaptive`).

FIRST_PART = Fraction(1, 2)
"""Share of what is left that measures the first choice under concentrated differential privacy;
what measures the rest is chosen again.

Set on the fitting half of the zoo, where a half was as good as a quarter.
"""

PART_DOUBT = 2.2
"""Standard deviation of the natural logarithm of the mean square of a part, within one table.

The larger it is, the more of the structure is in a few parts, which a tree can hold. Set on the
shares of all pairs that the strongest pairs hold, on the tables of `experiments/peers/zoo.py` (0.3
to 1 for as many pairs as attributes).
"""

ROUND_PART = Fraction(1, 40)
"""Share of the rest of the budget, after the second choice, that a round spends.

Set on the fitting half of the zoo.
"""

MOST_PAYING_ROUNDS = 32
"""Largest number of rounds that are made as long as they pay.

They leave a fifth of the rest of the budget for the candidate. Set on the fitting half of the zoo.
"""

DROWNED = 0.8
"""Largest expected squared error without some components, divided by that with them, for which they
are left out of a release; no unit.

Set on one table of the family "mixture of categories" of `experiments/peers/zoo.py`, where 1 added
a fifth to the error.
"""

# The tree of pairs (`choosing.tree`). The first three were set on 13 generated tables, three seeds:
# trees of categories, four families of `experiments/peers/zoo.py` that fit, and one table of the
# family "levels of a code", which validates the other constants.

TREE_SINGLES = 0.25
"""Share of the budget for the one-way tables before the choice of a tree."""

TREE_CHOICE = 0.2
"""Share of the budget for the choice of a tree."""

TREE_PENALTY = 0.5
"""Noise of the one-way tables that is subtracted from the score of a pair, divided by their noise
before negative counts are removed; no unit."""

JUDGE_DOUBT = 1.4
"""Standard deviation of what the answers of a tree or of strong pairs are assumed to miss, divided
by the judged one.

It was set for trees, on one table of each family of the fitting half of the zoo, at four budgets:
92 % of the true counts of reconstructed pairs and triples lie in intervals of 95 % with 1, 95 %
with 1.25, and 96 % with 1.5; in the worst case 67, 78 and 82 %. Single answers miss far more than
others.
"""

# The constants of a look for strong pairs (`choosing.strong_pairs`, `choosing.look`). They were set
# by hand on the generated tables of two trials, with the fitting half of the zoo beside them; see
# docs/results/peers.md. On these tables they are development figures. Those for pure differential
# privacy were set on generated tables of eight further characters: a tree of categories, few strong
# pairs among many attributes, blocks of bits, a school survey, clicks, and three of latent classes.
# No command refits them.

LOOK_SHARE = Fraction(11, 50)
LOOK_SHARE_PURE = Fraction(33, 200)
"""Largest shares of the budget for the look at strong pairs; the second for pure differential
privacy."""

# The next three were set on three tables of each family of the fitting half of the zoo, and on a
# tree of twenty attributes, under concentrated differential privacy.

LOOK_LEAST_SHARE = Fraction(3, 100)
"""Smallest share of the budget for a look of `Adaptive` under concentrated differential privacy."""

LOOK_FINE_NOISE = 0.5
"""Expected squared noise of the tree of a look, divided by the expected squared error of the best
other candidate, that a look needs not fall below."""

LOOK_FINE_CHOICE = 0.01
"""Mean absolute noise of a choice, as a share of the rows, that a look needs not fall below."""

LOOK_DISTANCE = Fraction(1, 10)
"""Share of the look for the distance that judges what it found."""

# The next four were set again later: on the fitting half of the zoo, on small made-up tables of
# three characters (5-10 attributes), and on larger ones of six (12-25 attributes). `LOOK_PRICE` was
# 110 there; it was raised when a look became cheaper (`LOOK_LEAST_SHARE`).

LOOK_NOISE = 0.2
"""Largest expected squared noise of a spanning tree, divided by the expected squared error of the
best other candidate, for which there is a look: a tree that saves less does not pay for it."""

LOOK_PRICE = 200
LOOK_PRICE_PURE = 4
"""Largest expected squared error of a spanning tree, divided by that of the best other candidate,
for which there is a look: what a tree misses is learnt from few triples. The second for pure
differential privacy, where a look that finds nothing costs more."""

LOOK_CHOICE_NOISE = 0.04
"""Largest mean absolute noise of a choice of a look, as a share of the rows."""

LOOK_DOUBT = 0.2
"""Part of the squared noise of the pairs of a look that is added to what they are judged to miss.

The judged distance cannot tell less than that. Factors from 0.1 to 0.25 are about as good.
"""

LOOK_BATCHES = 2
"""Number of batches of further pairs in a look; under pure differential privacy it has none."""

LOOK_TREE = Fraction(3, 5)
"""Share of the look for its spanning tree; the batches have the rest."""

LOOK_SINGLES = Fraction(1, 5)
LOOK_SINGLES_PURE = Fraction(3, 10)
"""Shares of the budget of that tree for the one-way tables; the second for pure differential
privacy."""

LOOK_TREE_CHOICE = Fraction(2, 5)
"""Share of the budget of that tree for the choice of its pairs."""

LOOK_CHOICE = Fraction(3, 5)
"""Share of the budget of a batch for the choice of its pairs; the rest measures them."""

AGAIN_TREE = Fraction(3, 5)
"""Share of what a look leaves under pure differential privacy that measures its tree again."""

AGAIN_CHOICE = Fraction(3, 25)
"""Share of what a look leaves under pure differential privacy for the choice of further pairs."""

AGAIN_DISTANCE = Fraction(1, 50)
"""Share of what a look leaves for the distance that tells what the last answers miss."""

FOREST_STRENGTH = 0.05
"""Assumed strength of the structure in pairs of attributes when a spanning tree is measured.

Half of `SINGLES_STRENGTH`. Factors from 0.3 to 2 were no better on the fitting half of the zoo.
"""

# Parameters of Dual Query (`learning.parameters`). All were found on Adult, KDD Cup 99 and
# generated bits at epsilon 1; on these tables they are development figures.

HEAT = 0.5
"""step * rounds / sqrt(draws), for up to `HEAT_ATTRIBUTES` attributes; no unit."""

HEAT_ATTRIBUTES = 400
"""Number of attributes above which the heat is divided by the square root of (attributes /
this)."""

WIDE_ATTRIBUTES = 4 * HEAT_ATTRIBUTES
"""Number of attributes above which a round takes so long that fewer rounds are played."""

ROUNDS_A_ROOT_DRAW = 0.4
"""Number of rounds divided by the square root of the number of draws."""

MOST_ROUNDS = 300.0
"""Largest number of rounds for up to `WIDE_ATTRIBUTES` attributes."""

MOST_ROUNDS_WIDE = 120.0
"""Largest number of rounds for more than `WIDE_ATTRIBUTES` attributes."""

ALL_RECORDS = 400
"""Number of records that all rounds together should generate."""

RECORDS_A_ROUND = (4, 16)
"""Smallest and largest number of records of a round for up to `WIDE_ATTRIBUTES` attributes; for
more attributes it is one record."""

POOL = 4
"""Number of rounds whose draws are answered together, for up to `WIDE_ATTRIBUTES` attributes."""

POOLED_DRAWS = 150_000
"""Number of draws that are answered together for more than `WIDE_ATTRIBUTES` attributes."""

POOL_WIDE = (3, 10)
"""Smallest and largest number of rounds from which these draws come."""

RECORD_WEIGHT = 0.3
"""Weight in exp(weight * e), the factor of a draw; e is the error of the round's earlier
records."""

# Sparse summaries (`sparse.dyadic`).

BEFORE_CHECK = 4
"""Number of empty nodes that may pass the filter, divided by the number wanted after the check.

Most of the empty nodes that pass the filter have an ancestor that does not pass it. The tables it
was fitted on: not recorded.
"""

MISSING_NODE = 3
"""Threshold theta divided by the assumed standard deviation of the count of a node that did not
pass it; no unit.

The tables it was fitted on: not recorded.
"""
