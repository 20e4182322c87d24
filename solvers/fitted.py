"""Constants that were chosen by measurement, each with its unit and with what it was fitted on.

A constant is here if another value would change the answers or the speed. Limits of size and memory
are in `limits`. "Command: none" means that no script fits the constant again. The commands `python
-m experiments run` with `solvers`, `reconstruction_speed` or `bestresponse` measure the effect of
most constants.
"""

__all__ = [
    "ANNEALING_COLD",
    "ANNEALING_HOT",
    "ANNEALING_SWEEPS",
    "BALANCED",
    "BINARY_STRENGTH",
    "CHECK_SWEEPS",
    "COMPILED_MANY",
    "COMPILED_NEAR",
    "COMPILER_SECONDS",
    "ENUMERATED_RECORDS",
    "FEWER_BY_UNIONS",
    "FEW_SWEEPS",
    "GROUPED_CELLS",
    "GROUP_TURNS",
    "JUNCTION_SHARE",
    "LEAST_FOR_UNIONS",
    "LEAVES_FALL",
    "MANY_UNKNOWNS",
    "MANY_UNKNOWNS_FOR_LAPACK",
    "MIXED_STRENGTH",
    "NEAR",
    "NUMPY_SECONDS_AN_ENTRY",
    "NUMPY_SECONDS_A_CELL",
    "NUMPY_SECONDS_A_PROBLEM",
    "PAIR_ROOM",
    "PATIENCE",
    "PROVED_GAP",
    "PROVED_TERMS",
    "RELAXATION",
    "REMEMBERED_SWEEPS",
    "REUSE",
    "SHARE",
    "SHARE_OF_MANY",
    "SINGLE_AXIS",
    "SINGLE_AXIS_GROWTH",
    "SINGLE_SUMMED",
    "SPLIT_UNKNOWNS",
    "STEP_RANGE",
    "STRONGEST",
    "STRONGEST_PAIR",
    "STRUCTURE_BY_AXIS",
    "STRUCTURE_DOUBT",
    "STRUCTURE_FALL",
    "STRUCTURE_LEAST_RATIO",
    "STRUCTURE_MEDIAN",
    "STRUCTURE_RATIO",
    "STRUCTURE_TILT",
    "STRUCTURE_WIDENING",
    "SUMMED",
    "SWEPT_UNKNOWNS",
    "TABLE_PER_GROUP",
    "TREE_FALL",
    "WEAK_PAIRS",
    "WORTH_THREADS",
]

# --- The strength of relaxation in maximum entropy (`dual`, `shrinkage`) ---

BINARY_STRENGTH = 1.0
MIXED_STRENGTH = 10.0
"""Strength (no unit) of the ridge when none is given: on binary axes, and on others.

Fitted on: not recorded. Command: none.
"""

JUNCTION_SHARE = 0.3
"""Strength of the ridge of a `JunctionTree`, divided by that of solving with context.

It is 1 where all axes have two categories.

Fitted on: six generated tables with 1,304 to 150,000 rows, at epsilon 1. The optimum is flat
between 0.1 and 1. Command: none.
"""

SINGLE_AXIS_GROWTH = 0.01
"""Factor r(1) of the ridge for coefficients of one axis; r(j) = j ** 2 for j > 1. No unit.

Fitted on: not recorded. Command: none.
"""

WEAK_PAIRS = 0.015
"""Mean square dual variable of pairs (squared nats) below which the ridge gets more strength.

Fitted on: generated Markov chains of several orders, compared on the tables of docs/results.md.
Twice the strength would gain 3 to 5 % on clicks and lose 2 to 10 % on Kosarak and Adult.
Command: none.
"""

STRONGEST = 300.0
"""Largest strength (no unit) that `strength_for` returns.

Fitted on: not recorded. Command: none.
"""

BALANCED = 0.25
"""Largest squared moment of a single axis (no unit) at which `strength_for` raises the strength.

A squared moment of 0.25 means that one value has three quarters of the rows. Beyond that, the
removal of negative counts hides the dependence between pairs. Fitted on: generated clicks.
Command: none.
"""

SHARE = 0.2
SHARE_OF_MANY = 1.0
"""How far a dual variable of one nat may move a moment, in units of r(j) x its noise.

The noise is the standard deviation of the moment, and r(j) is described at `SINGLE_AXIS_GROWTH`.

`SHARE` holds for binary axes, `SHARE_OF_MANY` where some axis has more categories. Fitted on:
generated tables. The optimum is flat between 0.2 and 0.7 for clicks, latent classes and Bayesian
networks, between 0 and 0.2 where attributes are functions of others, and between 0.5 and 3 on
mixed categories. Kosarak-32 was held back. See docs/solvers.md, section Context. Command: none.
"""

# --- The start of Newton's method (`starts`) ---

STRONGEST_PAIR = 0.3
"""Largest absolute dual variable (nats) of a pair in the start `pairwise`.

Fitted on: not recorded; the start saves a fifth of the steps. Command: none.
"""

PAIR_ROOM = 0.05
"""Number (no unit) added to the denominator of the dual variables of pairs in `pairwise`.

It prevents very large dual variables for pairs of almost constant attributes. Fitted on: not
recorded. Command: none.
"""

# --- When Newton's method reuses a factor of the Hessian: the rule is `rules.use_of_factor` ---

REUSE = 0.05
"""Ratio of successive gradients (no unit) up to which the last factor is used as it is.

Fitted on: not recorded. Effect: `python -m experiments run reconstruction_speed`.
"""

NEAR = 0.4
COMPILED_NEAR = 0.3
"""Ratio of successive gradients (no unit) up to which the last factor serves as a preconditioner.

`NEAR` is for numpy, `COMPILED_NEAR` for the compiled loops. While cells go to zero, a step makes
the gradient about 1 / e = 0.37 of what it was. Fitted on: not recorded. Effect: as `REUSE`.
"""

MANY_UNKNOWNS = 200
COMPILED_MANY = 64
"""Number of unknowns up to which factoring the Hessian anew costs less than preconditioned steps.

`MANY_UNKNOWNS` is for numpy, `COMPILED_MANY` for the compiled loops. Fitted on: not recorded.
Effect: as `REUSE`.
"""

# --- Which code runs: numpy, LAPACK or compiled loops ---

COMPILER_SECONDS = 1.0
"""Seconds of numpy's work from which the compiled loops are loaded.

Loading takes about a second, and compiling for the first time on a machine half a minute. Fitted
on: the time of the import on one machine. Command: none.
"""

NUMPY_SECONDS_A_PROBLEM = 5e-4
NUMPY_SECONDS_AN_ENTRY = 5e-7
"""Seconds that numpy takes for one problem of `Newton`, and for each entry of its Hessian.

Fitted on: not recorded; only the order of magnitude matters. Effect: as `REUSE`.
"""

NUMPY_SECONDS_A_CELL = 1.2e-5
"""Seconds that numpy takes for each cell of `JointProjection`, over all iterations.

Fitted on: not recorded; only the order of magnitude matters. Command: none.
"""

WORTH_THREADS = 200_000
"""Number of cells of all views from which `JointProjection` starts threads.

Fitted on: not recorded. Command: none.
"""

MANY_UNKNOWNS_FOR_LAPACK = 400
"""Number of unknowns above which LAPACK is faster than the compiled loops.

Fitted on: not recorded. Effect: as `REUSE`.
"""

SPLIT_UNKNOWNS = 200
"""Number of unknowns below which the whole Hessian is as fast as `SplitDual`.

Fitted on: not recorded. Command: none.
"""

LEAST_FOR_UNIONS = 1 << 14
FEWER_BY_UNIONS = 4
"""`UnionProducts` is used for at least 2 ** 14 extended functions, if it needs at most a quarter.

Fitted on: eleven shapes with 3 to 12 axes, all pairs or triples known. Where it needs half as many,
both ways take as long; with 2 ** 14 extended functions both take a millisecond. Command: none.
"""

SWEPT_UNKNOWNS = 500
"""Number of unknowns from which a few sweeps precede Newton's method.

Fitted on: marginals of four attributes of 3 to 12 categories, all triples known. With 450 unknowns
both ways take as long, with 650 sweeps save half, with 980 three quarters. Command: none.
"""

FEW_SWEEPS = 60
"""Largest number of sweeps for each accuracy of `ScaledDual` where the Hessian can be stored.

Fitted on: four marginals of an invented survey, of 6,912 to 11,520 cells, with rules and without.
Thirty to 120 sweeps take as long, 500 twice. Command: none.
"""

GROUPED_CELLS = 1 << 15
"""Number of cells of a table from which its blocks are scaled in groups.

Fitted on: marginals of four and five of Adult's 13 coded attributes, all triples known. With 25,000
cells groups take a tenth longer, with 70,000 a third less. Command: none.
"""

TABLE_PER_GROUP = 32
"""A group of blocks has at most the table's cells divided by this, or is a single known set.

Fitted on: two marginals of six of Adult's 13 coded attributes, 672,000 cells, all triples known. 16
and 64 take 13 to 30 % longer. Command: none.
"""

GROUP_TURNS = 4
"""Largest number of turns that each block of a group takes before the table is scaled.

Fitted on: the same two marginals. One turn doubles the sweeps; 3 to 6 take as long. Command: none.
"""

REMEMBERED_SWEEPS = 12
"""Number of earlier sweeps from which the next point of scaling is extrapolated.

Fitted on: marginals of three of Adult's raw attributes, 20,000 to 840,000 cells. Five take up to
half as many sweeps again. Command: none.
"""

# --- The projection onto non-negative tables (`nonnegativity`) ---

SINGLE_AXIS = 3.0
"""Importance (no unit) of components of single axes; pairs have 1 / 2 at the usual decay.

Fitted on: generated clicks, chains and latent classes, and Kosarak and Adult, by the error of
answers (docs/results.md). The default `decay` of 1 was chosen in the same comparisons.
Command: none.
"""

SINGLE_SUMMED = 1 / 2
SUMMED = 1 / 17
"""Importance (no unit) of components of single axes and of others, for each root of the number of
cells of a view that a cell of their marginal sums.

Fitted on: a single view of 4,096 to 34,560 cells of generated tables (people, chains, latent
classes, clicks, independent attributes), two budgets each, by the errors of its marginals on one to
four attributes. These fall by 5 % on average, and rise by at most 18 %, where noise hides
everything. A quarter instead of a half is as good for errors, but has a bias of one standard
deviation in counts of a large view by one attribute. Judged on: single views of 512 to 264,600
cells of Adult, Kosarak, MSNBC and a generated table, where errors fall by up to 45 % and rise by at
most 5 %. Command: none.
"""

LEAVES_FALL = 0.3
"""How far the removal of negative counts moves a level of a tree whose leaves alone were measured,
divided by how far it moves the next level, both in standard deviations; no unit.

With one, the coarse levels had errors of up to 8 times their noise on generated trees of four
shapes with sparse leaves; with this value up to 1.2 times, and the leaves 0.41 times (0.38 with
one). Command: none
"""

TREE_FALL = 0.03
"""Factor for the variance of a level of a tree, for each level below it, when negative counts are
removed; no unit.

With one, the result is a maximum likelihood estimate. It has a bias: the removal of negative counts
raises all leaves, which adds up in the levels above, whose errors are then up to three times those
of least squares. Chosen on generated trees of five shapes with sparse leaves, where with this value
no level is worse than by least squares. Command: none
"""

PATIENCE = 40
"""Number of iterations after which the step of the multipliers doubles.

It doubles again each time the number of iterations has doubled.

Fitted on: not recorded. Command: none.
"""

STEP_RANGE = 100.0
"""Largest unit of the steps in a view, over the variance of its cells as its median component has
it; no unit.

Fitted on: three releases of generated surveys with skipped questions, in which views of four
attributes got hardly any budget, and made-up noise of very unequal views. 10 and 30 are as good.
Without a limit, sums of two attributes were off by 2.7 standard deviations. Command: none.
"""

RELAXATION = 1.8
"""Over-relaxation (no unit) of the multiplier method; values from 1.5 to 1.8 are usual.

Fitted on: not recorded; measured best with rho = 1. Command: none.
"""

# --- Best responses (`anneal`, `components`) ---

ANNEALING_HOT = 0.5
ANNEALING_COLD = 0.1
"""First and last temperature of `Anneal`, in units of the mean absolute weight.

Fitted on: not recorded. Effect: `python -m experiments run bestresponse`.
"""

ANNEALING_SWEEPS = 2000
"""Number of sweeps of the annealing inside `ByComponents`.

Fitted on: ten recorded rounds of DualQuery on 100 biased bits with 1,000 draws, five seeds each.
The record missed the best known one in 18 % of the runs with 300 sweeps, 8 % with 1,000, 2 % with
2,000 and 6 % with 4,000. Command: none.
"""

CHECK_SWEEPS = 10
"""Number of sweeps of the short annealing that checks a back-end's claims.

Fitted on: not recorded. Command: none.
"""

ENUMERATED_RECORDS = 2**12
"""Number of records up to which `ByComponents` enumerates a component.

Fitted on: not recorded. Effect: `python -m experiments run bestresponse`.
"""

PROVED_GAP = 4.0
"""Largest gap, in mean absolute weights, for which `ByComponents` asks its second back-end.

Fitted on: 70 recorded instances of rounds 1 to 170 of DualQuery on Adult, KDD99 and biased bits.
The first node of HiGHS proved a record for 4 of 4 components with a gap from 0 to 4, in 0.2 to 2.6
CPU seconds, and for none of 5 with a gap from 4 to 8. Command: `python -m experiments run
best-response-proofs` (choice.csv); its rows.csv are instances that were held back.
"""

PROVED_TERMS = 5000
"""Largest number of terms of a component for which `ByComponents` solves the linear relaxation.

Fitted on: as `PROVED_GAP`. The relaxation takes up to 0.14 CPU seconds for 2,000 terms and up
to 0.17 for 4,600; the annealing takes milliseconds. Command: as `PROVED_GAP`.
"""

# --- The missed part of a reconstruction (`structure`) ---

STRUCTURE_MEDIAN = {0: 0.5, 1: 0.1}
"""Median of the prior of the scale, by the number of axes up to which moments are known; no unit.

Fitted on: generated tables of 10 to 30 axes (mixtures, factors, clicks, a Markov chain of order
three, noisy parities, independent bits, a Bayesian network), on MSNBC and on Kosarak. Adult and
KDD Cup 99 were looked at afterwards. Command: none.
"""

STRUCTURE_RATIO = 0.35
"""Median of the scale if pairs are known, over that if single axes are known. No unit.

Fitted on: the tables of `STRUCTURE_MEDIAN`. Command: none.
"""

STRUCTURE_FALL = 2.0
STRUCTURE_LEAST_RATIO = 0.1
"""From triples on: the median of the scale over the scale s for one axis less. No unit.

It is (s / s before) ** 2, within 0.1 and 1. Fitted on: the families that fit of
`experiments/peers/_zoo_tables.py`, where a cover of triples is measured and four attributes are
asked. The power was 2.0 for mixtures of bits and 3.2 for networks of bits. MSNBC was held back: its
power is 1. Command: none.
"""

STRUCTURE_DOUBT = 1.2
"""Standard deviation of the natural logarithm of the scale in the prior; no unit.

Fitted on: the tables of `STRUCTURE_MEDIAN`. Command: none.
"""

STRUCTURE_BY_AXIS = 0.9
"""Standard deviation of the natural logarithm of the scale between axes; no unit.

All dependences of one axis have this part of their scale in common (`missed.unbalance`). Fitted on:
the families that fit, as `STRUCTURE_FALL`. All pairs with one axis were measured without noise, and
their scale was compared with that of the other pairs, for each axis of each table. The root mean
square of the logarithm of the ratio is 0.97; the median of the tables is 0.66. Command: none.
"""

STRUCTURE_TILT = 0.4
"""Power of a cell's size, relative to a uniform table, in the missed variance; no unit.

Fitted on: the families that fit, as `STRUCTURE_FALL`: of 0, 0.25, 0.4 and 0.6, the value with which
most shares of true counts inside 95 % lie between .92 and .99. Command: none.
"""

STRUCTURE_WIDENING = 1.4
"""Factor of the scale, because some marginals miss more than others; no unit.

Fitted on: the tables of `STRUCTURE_MEDIAN`. Command: none.
"""
