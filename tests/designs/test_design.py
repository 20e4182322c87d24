import itertools

import numpy as np
import pytest

from margin.designs import (
    Design,
    affine_geometry,
    inversive_plane,
    projective_geometry,
    schonheim_bound,
    transversal_design,
)
from margin.designs.geometry.arcs import maximal_arc
from margin.designs.geometry.binary_subspaces import linear_cover
from margin.designs.geometry.spherical import spherical_geometry
from margin.designs.geometry.transversal import transversal_cover
from margin.designs.geometry.witt import witt_design

FANO = ((0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5))


def missed(design):
    """The t-subsets in no block, one by one."""
    held = {one for block in design.blocks for one in itertools.combinations(block, design.t)}
    return [one for one in itertools.combinations(range(design.v), design.t) if one not in held]


def transversal(v, k, q, *, shared):
    def whole(n):
        return [tuple(range(n))]

    blocks = transversal_cover(v, k, q, whole, shared=shared)
    return Design(
        v=v, k=max(k, q + shared), t=2, blocks=tuple(sorted(blocks)), provenance="transversal"
    )


CONSTRUCTIONS = {
    "Fano plane": (lambda: Design(v=7, k=3, t=2, blocks=FANO, provenance="by hand"), (7, 3, 2, 7)),
    "lines of AG(2, 2)": (lambda: affine_geometry(2, 2, 1), (4, 2, 2, 6)),
    "lines of AG(2, 7)": (lambda: affine_geometry(2, 7, 1), (49, 7, 2, 56)),
    "lines of AG(2, 8)": (lambda: affine_geometry(2, 8, 1), (64, 8, 2, 72)),
    "lines of AG(3, 4)": (lambda: affine_geometry(3, 4, 1), (64, 4, 2, 336)),
    "planes of AG(3, 3)": (lambda: affine_geometry(3, 3, 2), (27, 9, 3, 39)),
    "planes of AG(4, 2)": (lambda: affine_geometry(4, 2, 2), (16, 4, 3, 140)),
    "3-flats of AG(5, 2)": (lambda: affine_geometry(5, 2, 3), (32, 8, 4, 620)),
    "points of AG(3, 2)": (lambda: affine_geometry(3, 2, 0), (8, 1, 1, 8)),
    "all of AG(2, 3)": (lambda: affine_geometry(2, 3, 2), (9, 9, 3, 1)),
    "lines of PG(2, 2)": (lambda: projective_geometry(2, 2, 1), (7, 3, 2, 7)),
    "lines of PG(2, 7)": (lambda: projective_geometry(2, 7, 1), (57, 8, 2, 57)),
    "lines of PG(2, 9)": (lambda: projective_geometry(2, 9, 1), (91, 10, 2, 91)),
    "lines of PG(3, 3)": (lambda: projective_geometry(3, 3, 1), (40, 4, 2, 130)),
    "planes of PG(3, 3)": (lambda: projective_geometry(3, 3, 2), (40, 13, 3, 40)),
    "circles of order 2": (lambda: inversive_plane(2), (5, 3, 3, 10)),
    "circles of order 4": (lambda: inversive_plane(4), (17, 5, 3, 68)),
    "circles of order 7": (lambda: inversive_plane(7), (50, 8, 3, 350)),
    "circles of order 9": (lambda: inversive_plane(9), (82, 10, 3, 738)),
    "lines of an arc in PG(2, 16)": (lambda: maximal_arc(16, 8), (120, 8, 2, 255)),
    "lines of an arc in PG(2, 8)": (lambda: maximal_arc(8, 4), (28, 4, 2, 63)),
    "lines of a hyperoval": (lambda: maximal_arc(4, 2), (6, 2, 2, 15)),
    "circles in three dimensions": (lambda: spherical_geometry(3, 3), (28, 4, 3, 819)),
    "circles of order 4 again": (lambda: spherical_geometry(4, 2), (17, 5, 3, 68)),
    "Witt design of 24 points": (lambda: witt_design(24), (24, 8, 5, 759)),
    "Witt design of 23 points": (lambda: witt_design(23), (23, 7, 4, 253)),
    "Witt design of 22 points": (lambda: witt_design(22), (22, 6, 3, 77)),
    "transversal design": (lambda: transversal_design(4, 5), (20, 4, 1, 25)),
    "subspaces of GF(2)**4": (lambda: linear_cover(4, 3, 2, tries=10), (16, 8, 2, 6)),
    "subspaces of GF(2)**5": (lambda: linear_cover(5, 3, 3, tries=10), (32, 8, 3, 108)),
    "transversal of order 3": (lambda: transversal(12, 4, 3, shared=0), (12, 4, 2, 13)),
    "transversal of order 7, truncated": (lambda: transversal(53, 8, 7, shared=0), (53, 8, 2, 57)),
    "transversal of order 7, closed": (lambda: transversal(57, 8, 7, shared=1), (57, 8, 2, 57)),
    "transversal of order 5, truncated and closed": (
        lambda: transversal(17, 4, 5, shared=1),
        (17, 6, 2, 29),
    ),
    "transversal of order 4, three points shared": (
        lambda: transversal(15, 3, 4, shared=3),
        (15, 7, 2, 19),
    ),
}


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_a_construction_covers_and_has_its_size(name):
    build, (v, k, t, size) = CONSTRUCTIONS[name]
    design = build()
    assert (design.v, design.k, design.t, design.size) == (v, k, t, size)
    assert design.verify()
    assert design.uncovered().shape == (0, t)
    assert missed(design) == []
    assert size >= schonheim_bound(v, k, t)


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_what_a_missing_block_leaves_uncovered_is_found(name):
    design = CONSTRUCTIONS[name][0]()
    part = Design(
        v=design.v, k=design.k, t=design.t, blocks=design.blocks[1:], provenance="a block missing"
    )
    assert sorted(map(tuple, part.uncovered().tolist())) == missed(part)
    assert part.verify() == (not missed(part))


def test_no_blocks_cover_nothing():
    empty = Design(v=5, k=3, t=2, blocks=(), provenance="nothing")
    assert not empty.verify()
    assert empty.uncovered().tolist() == sorted(
        empty.uncovered().tolist(), key=lambda one: one[::-1]
    )
    assert len(empty.uncovered()) == 10


def test_short_blocks_are_allowed():
    design = Design(
        v=4, k=3, t=2, blocks=((), (0,), (0, 1, 2), (0, 3), (1, 3), (2, 3)), provenance="by hand"
    )
    assert design.verify()


def test_one_block_of_many_points_needs_no_enumeration():
    assert Design(v=400, k=400, t=3, blocks=(tuple(range(400)),), provenance="one block").verify()


def test_a_large_design_is_verified_in_seconds():
    design = affine_geometry(6, 2, 3)
    assert (design.v, design.k, design.t, design.size) == (64, 8, 4, 11160)
    assert design.verify()


BAD = {
    "v": ({"v": 0}, r"v \(0\) must be >= 1"),
    "v of a float": ({"v": 7.0}, r"v \(7\.0\) must be an int"),
    "v of a bool": ({"v": True}, r"v \(True\) must be an int"),
    "k": ({"k": 0}, r"k \(0\) must be >= 1"),
    "t": ({"t": 0}, r"t \(0\) must be >= 1"),
    "t above k": ({"t": 4}, r"t \(4\) must be <= k \(3\)"),
    "t above v": ({"v": 2, "k": 5, "t": 3}, r"t \(3\) must be <= v \(2\)"),
    "blocks as a list": ({"blocks": [(0, 1)]}, r"blocks must be a tuple"),
    "a block as a list": ({"blocks": ([0, 1],)}, r"blocks\[0\] .* must be a tuple of ints"),
    "points of numpy": (
        {"blocks": ((np.int64(0), np.int64(1)),)},
        r"blocks\[0\] .* must be a tuple of ints",
    ),
    "a block in disorder": ({"blocks": ((0, 1), (2, 1))}, r"blocks\[1\] .* must be ascending"),
    "a repeated point": ({"blocks": ((1, 1),)}, r"blocks\[0\] .* must be ascending"),
    "a point out of range": (
        {"blocks": ((1, 7),)},
        r"blocks\[0\] .* must hold points of 0\.\.6 only",
    ),
    "a negative point": ({"blocks": ((-1, 3),)}, r"blocks\[0\] .* must hold points of 0\.\.6 only"),
    "a block too large": (
        {"blocks": ((0, 1, 2, 3),)},
        r"blocks\[0\] must hold at most k \(3\) points, but it holds 4",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_design_names_what_is_wrong(name):
    changes, says = BAD[name]
    with pytest.raises(ValueError, match=says):
        Design(**{"v": 7, "k": 3, "t": 2, "blocks": FANO, "provenance": "by hand", **changes})
