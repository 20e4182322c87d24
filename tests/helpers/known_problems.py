"""Random tables with rules, and known tables of them that overlap along a tree."""

import numpy as np

from margin import Domain
from margin.domain.level_views import level_view


def random_table(rng):
    """A random domain, which may have levels and a rule, with codes and the array of counts."""
    count = int(rng.integers(2, 5))
    forms = {name: _attribute(rng) for name in "abcd"[:count]}
    plain = Domain(forms)
    one, other = rng.choice(list(forms), 2, replace=False).tolist()
    rules = []
    if rng.random() < 0.3 and plain[one].size > 1 and plain[other].size > 1:
        rules = [{name: _label(rng, plain[name]) for name in (one, other)}]
    domain = Domain(forms, impossible=rules)
    cells = int(np.prod(domain.sizes))
    shares = rng.dirichlet(np.full(cells, rng.choice([0.05, 0.5, 5.0]))) + 1e-12
    shares = shares * domain.possible(domain.attributes).ravel()
    drawn = rng.choice(cells, int(rng.integers(5, 500)), p=shares / shares.sum())
    codes = np.stack(np.unravel_index(drawn, domain.sizes), axis=1).astype(np.int64)
    return domain, codes, counted(domain, codes)


def counted(domain, codes):
    """The array of the counts of all cells."""
    counts = np.zeros(domain.sizes)
    np.add.at(counts, tuple(codes.T), 1)
    return counts


def table_of(domain, counts, names):
    """The table of some names, which may have levels, from the array of all counts."""
    view = level_view(domain, names)
    axes = domain.axes(view.view)
    dropped = tuple(axis for axis in range(len(domain)) if axis not in axes)
    table = counts.sum(axis=dropped)
    return view.rolled_up(table.transpose(np.argsort(np.argsort(axes))))


def tree_of_tables(rng, domain, counts):
    """True tables of views that overlap along a tree, by their names."""
    names = list(domain)
    known = {}
    last, seen = [], set()
    for _ in range(int(rng.integers(1, 4))):
        kept = rng.permutation(last)[: int(rng.integers(0, len(last) + 1))].tolist()
        new = rng.permutation([name for name in names if name not in seen]).tolist()
        view = kept + new[: int(rng.integers(1, 3))]
        if not view:
            break
        last = view
        seen |= set(view)
        levels = tuple(_at_level(rng, domain, name) for name in view)
        known[levels] = table_of(domain, counts, levels)
    return known


def differences(domain, view, table, known):
    """The largest difference between an answer without levels and all that is known about it."""
    worst = 0.0
    for names, counts in known.items():
        own = level_view(domain, names)
        places = [place for place, name in enumerate(own.view) if name in view]
        dropped = tuple(place for place in range(len(names)) if place not in places)
        expected = np.asarray(counts).sum(axis=dropped)
        found = table.sum()
        if places:
            common = level_view(domain, [names[place] for place in places])
            axes = [view.index(name) for name in common.view]
            summed = table.sum(axis=tuple(a for a in range(len(view)) if a not in axes))
            found = common.rolled_up(summed.transpose(np.argsort(np.argsort(axes))))
        worst = max(worst, float(np.abs(found - expected).max()))
    return worst


def _attribute(rng):
    if rng.random() < 0.6:
        return int(rng.integers(1, 6))
    paths = [
        [f"t{top}", f"m{top}{middle}", f"l{top}{middle}{leaf}"]
        for top in range(int(rng.integers(1, 4)))
        for middle in range(int(rng.integers(1, 3)))
        for leaf in range(int(rng.integers(1, 4)))
    ]
    return {"levels": {"names": ["top", "middle", "leaf"], "paths": paths}}


def _label(rng, attribute):
    return attribute.label(int(rng.integers(attribute.size)))


def _at_level(rng, domain, name):
    if domain[name].levels is None or rng.random() < 0.4:
        return name
    return f"{name}@{rng.choice(['top', 'middle'])}"
