"""Means of products of basis functions: every way gives the numbers of plain sums over cells."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers.basis import contrasts, transform
from margin.solvers.marginal_tree import MarginalTree
from margin.solvers.reconstruct.products import UnionProducts, WholeProducts, products_of

SHAPES = [(3, 3, 3, 3), (3, 2, 4, 2, 3), (2, 5, 2), (4,), (7, 3), (3, 1, 4)]
WAYS = [1, 2, 3]
KINDS = [UnionProducts, WholeProducts]


def known(shape: tuple[int, ...], way: int) -> np.ndarray:
    """The functions that vary on one to `way` axes."""
    order = transform(shape).order
    return np.flatnonzero((order > 0) & (order <= way))


def functions(shape: tuple[int, ...], index: np.ndarray) -> np.ndarray:
    """The known functions on all cells by their definition, shape (m, cells)."""
    whole = np.ones((1, 1))
    for size in shape:
        whole = np.kron(whole, math.sqrt(size) * contrasts(size))
    return whole[index]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_means_and_form_are_plain_sums(shape: tuple[int, ...], way: int, kind: type) -> None:
    rng = np.random.default_rng(0)
    index = known(shape, way)
    distribution = rng.dirichlet(np.ones(math.prod(shape)))
    weights = rng.normal(size=(len(index), len(index)))
    products = kind(shape, index)
    plain = functions(shape, index)

    factor = 1.0 if products.factor is None else products.factor
    means = factor * products.means(distribution)[products.place]
    form = products.form(weights)

    np.testing.assert_allclose(means, plain * distribution @ plain.T, atol=1e-12)
    np.testing.assert_allclose(form, ((weights @ plain) * plain).sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_without_known_functions(kind: type) -> None:
    products = kind((3, 3), np.zeros(0, dtype=np.int64))
    assert products.place.shape == (0, 0)
    np.testing.assert_array_equal(products.form(np.zeros((0, 0))), np.zeros(9))


@pytest.mark.parametrize(
    ("shape", "way", "kind"),
    [
        ((3,) * 9, 2, UnionProducts),
        ((3,) * 9, 5, WholeProducts),  # the unions have all axes
        ((3,) * 4, 2, WholeProducts),  # few numbers
        ((2,) * 12, 2, WholeProducts),  # binary
    ],
)
def test_unions_where_they_need_far_fewer_means(
    shape: tuple[int, ...], way: int, kind: type
) -> None:
    chosen = products_of(shape, known(shape, way))
    assert type(chosen) is kind


@st.composite
def marginals(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int]]:
    """A shape, and the masks of one or more of its marginals."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    masks = st.integers(0, 2 ** len(shape) - 1)
    return shape, draw(st.lists(masks, min_size=1, max_size=6, unique=True))


@settings(max_examples=100, deadline=None)
@given(marginals(), st.integers(0, 10**6))
def test_marginal_tree_and_its_transpose(
    case: tuple[tuple[int, ...], list[int]], seed: int
) -> None:
    shape, masks = case
    rng = np.random.default_rng(seed)
    table = rng.normal(size=math.prod(shape))
    tree = MarginalTree(shape, masks)
    found = tree.marginals(table)
    added = [rng.normal(size=math.prod(tree.shape_of(mask))) for mask in masks]

    # Each marginal is the sum over the axes that it lacks.
    for mask, marginal in zip(masks, found, strict=True):
        lacking = tuple(axis for axis in range(len(shape)) if not mask >> axis & 1)
        plain = table.reshape(shape).sum(axis=lacking).ravel()
        np.testing.assert_allclose(marginal, plain, atol=1e-12)
    # The transpose has the same inner products.
    one = sum(own @ marginal for own, marginal in zip(added, found, strict=True))
    np.testing.assert_allclose(tree.spread(added) @ table, one, atol=1e-9)
