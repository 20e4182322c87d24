"""A name with a seed stands for a generated problem; the catalogue's are such, too."""

import itertools

import pytest

from margin.solvers import bench
from margin.solvers.bench.digest import digest
from margin.solvers.bench.made.catalogue import recipes
from margin.solvers.bench.made.generated import generated


def catalogue():
    """The recipes that are drawn from seeds, with their seeds: their places in their family.

    Two covers that differ by their costs alone share a seed. `cover-views-m8-all2-81` has other
    attributes than `m8` says.
    """
    drawn = [one for one in recipes() if not one.name.startswith("cover-design")]
    for family, members in itertools.groupby(drawn, lambda one: one.family):
        for place, recipe in enumerate(members):
            seed = 1 + (place // 2 if family == "cover" else place)
            if "m8-all2-81" not in recipe.name:
                yield recipe, seed


def test_the_names_of_the_catalogue_with_their_seeds_give_the_same_problems():
    """The function and its arguments are equal, so the problem is."""
    pairs = [*catalogue()]
    assert len(pairs) > 300
    for recipe, seed in pairs:
        other = generated(f"{recipe.name}-seed{seed}")
        assert other.family == recipe.family and other.size == "large"
        assert other.make.func is recipe.make.func
        for given, expected in zip(other.make.args, recipe.make.args, strict=True):
            # A record has a size, which is unknown of what is generated, and short names.
            is_sized = "size" in getattr(given, "_fields", ())
            words = {"size": expected.size, "name": expected.name} if is_sized else {}
            assert (given._replace(**words) if words else given) == expected, recipe.name


SMALL = (
    "exact-entropy-3x4-classes-pairs-zeros",
    "penalised-entropy-b5-rules-half",
    "least-squares-2x3x4-chain-triples",
    "minimax-b5-independent-pairs",
    "consistency-2x3x4-clicks-2x2-unequal",
    "nonnegativity-b5-chain-triples",
    "response-c7x9-clicks-round3",
    "response-p5x9-rules-round1",
    "response-m6x9-chain-round2",
    "response-f6x9-classes-round2",
    "cover-views-b6-7of3-16-one",
    "cover-views-2x3x4x5-all2-20-cells",
)


@pytest.mark.parametrize("name", SMALL)
def test_a_generated_problem_depends_on_its_seed_and_nothing_else(name):
    made = {seed: bench.instance(f"{name}-seed{seed}") for seed in (7, 8)}
    digests = {seed: digest(one.family.pack(one.problem)) for seed, one in made.items()}
    again = bench.instance(f"{name}-seed7")
    assert digest(again.family.pack(again.problem)) == digests[7]
    is_random = "all2" not in name
    assert (digests[7] != digests[8]) == is_random
    assert made[7].best_known is made[7].bound is None and made[7].name == f"{name}-seed7"
    assert again.model.columns > 0


@pytest.mark.parametrize(
    "name",
    [
        "nothing-seed7",
        "cover-design-7-3-2-seed7",
        "minimax-b4-chain-pairs-seed",
        "minimax-b4-chain-pairs-seed-1",
        "minimax-b4-chain-pairs-zeros-seed7",
        "minimax-b4-chains-pairs-seed7",
        "minimax-m9-chain-pairs-seed7",
        "minimax-1x4-chain-pairs-seed7",
        "minimax-b2-chain-triples-seed7",
        "least-squares-b0-chain-pairs-seed7",
        "consistency-b4-chain-2x5-seed7",
        "consistency-b4-chain-pairs-zeros-seed7",
        "response-x7x9-chain-round2-seed7",
        "response-c2x9-chain-round2-seed7",
        "response-c7x9-chain-round0-seed7",
        "response-c7x9-chain-seed7",
        "cover-views-b6-16of2-8-one-seed7",
        "cover-views-b6-all7-8-one-seed7",
        "cover-views-b6-all2-8-two-seed7",
    ],
)
def test_a_name_that_gives_no_problem_is_refused(name):
    with pytest.raises(ValueError, match="must consist of a family, the parts"):
        bench.instance(name)


@pytest.mark.parametrize(
    "name", ["exact-entropy-b25-chain-pairs-seed1", "consistency-b30-chain-2x25-seed1"]
)
def test_a_table_that_is_too_large_is_refused(name):
    with pytest.raises(ValueError, match=r"at most 16777216 cells, but this one has \d+; take"):
        bench.instance(name)


def test_an_unknown_name_says_how_others_are_generated():
    with pytest.raises(ValueError, match=r"did you mean 'cover-design-7-3-2'\? Names outside"):
        bench.instance("cover-design-7-3-22")
    with pytest.raises(ValueError, match=r"does not hold '\?'\. Names outside .* in a seed, such"):
        bench.instance("?")
