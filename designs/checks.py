"""Argument checks that the modules of this folder share."""

from collections.abc import Iterable


def check_int(
    name: str,
    value: object,
    least: int,
) -> None:
    """Raise a ValueError that names the parameter, unless `value` is an int >= `least`.

    A bool is not accepted as an int.
    """
    if type(value) is not int:
        raise ValueError(
            f"{name} ({value!r}) must be an int, but its type is {type(value).__name__}; pass "
            f"int({name})"
        )
    if value < least:
        raise ValueError(f"{name} ({value}) must be >= {least}; pass a larger number")


def check_parameters(
    v: int,
    k: int,
    t: int,
) -> None:
    """Raise ValueError unless v, k, t are ints with v >= 1 and 1 <= t <= min(v, k)."""
    check_int("v", v, 1)
    check_int("k", k, 1)
    check_int("t", t, 1)
    if t > k:
        raise ValueError(
            f"t ({t}) must be <= k ({k}), because a block of {k} points cannot hold {t}; lower t "
            "or raise k"
        )
    if t > v:
        raise ValueError(
            f"t ({t}) must be <= v ({v}), because there are only {v} points to choose from; lower "
            "t or raise v"
        )


def check_ints(
    name: str,
    values: Iterable[object],
    least: int,
) -> None:
    """Raise a ValueError that names the element, unless all `values` are ints >= `least`.

    A bool is not accepted as an int.
    """
    for i, value in enumerate(values):
        check_int(f"{name}[{i}]", value, least)
