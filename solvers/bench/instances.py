"""`instances` and `instance`: the catalogue of generated instances."""

import difflib

from .families.every import FAMILIES
from .instance import Instance
from .made.catalogue import Known, known_values, recipes
from .made.recipe import Recipe

__all__ = ["instance", "instances"]

_SIZES = ("small", "medium", "large")


def instances(
    *,
    family: str | None = None,
    size: str | None = None,
) -> list[Instance]:
    """The instances of the catalogue; each makes its problem when it is first asked for it.

    Parameters
    ----------
    family
        The name of a family or of a group of families; None for all.
    size
        ``small``, ``medium`` or ``large``; None for all.

    Raises
    ------
    ValueError
        If there is no such family or size.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> len(bench.instances()) >= 300
    True
    >>> bench.instances(family="entropy", size="small")[0].name
    'exact-entropy-b4-independent-pairs'
    """
    names = list(dict.fromkeys([one.name for one in FAMILIES] + [one.group for one in FAMILIES]))
    if family is not None and family not in names:
        raise ValueError(_unknown("family", family, names))
    if size is not None and size not in _SIZES:
        raise ValueError(_unknown("size", size, _SIZES))
    groups = {one.name: one.group for one in FAMILIES}
    return [
        _instance(recipe)
        for recipe in recipes()
        if family in (None, recipe.family, groups[recipe.family]) and size in (None, recipe.size)
    ]


def instance(name: str) -> Instance:
    """The instance of this name.

    Raises
    ------
    ValueError
        If the catalogue has no such instance.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> bench.instance("cover-design-7-3-2").best_known
    7.0
    """
    for recipe in recipes():
        if recipe.name == name:
            return _instance(recipe)
    raise ValueError(_unknown("name", name, [recipe.name for recipe in recipes()]))


def _instance(recipe: Recipe) -> Instance:
    """The instance of a recipe, with what is known of it."""
    known = known_values().get((recipe.name, recipe.version), Known(None, None, ""))
    return Instance(
        name=recipe.name,
        version=recipe.version,
        family=next(one for one in FAMILIES if one.name == recipe.family),
        size=recipe.size,  # type: ignore[arg-type]
        make=recipe.make,
        **known._asdict(),
    )


def _unknown(what: str, given: str, known: list[str] | tuple[str, ...]) -> str:
    """The message about an unknown name."""
    near = difflib.get_close_matches(given, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    if len(known) < 20:
        return f"{what} must be one of {', '.join(known)}, but it is '{given}'{hint}"
    return f"the catalogue must hold the {what}, but it does not hold '{given}'{hint}"
