"""Finite fields: addition and multiplication tables of the field with q elements."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from .checks import check_int
from .types import Integers


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Field:
    """Arithmetic of a finite field by tables.

    The elements are ``range(q)``. An element stands for a polynomial over the integers modulo p,
    whose coefficients are the base-p digits of the element, constant term first. 0 and 1 are the
    neutral elements. If q is not a prime, the element p generates the multiplicative group.

    Parameters
    ----------
    q, p, degree : int
        q = p ** degree with p a prime.
    add, multiply : array, shape (q, q)
        The tables of the two operations.
    powers : array, shape (q - 1,)
        g ** 0, g ** 1, ... for a generator g of the multiplicative group.
    """

    q: int
    p: int
    degree: int
    add: Integers
    multiply: Integers
    powers: Integers


def prime_power(q: int) -> tuple[int, int] | None:
    """Write q as p ** n with p a prime: return (p, n), or None if that is impossible.

    >>> prime_power(125), prime_power(7), prime_power(12)
    ((5, 3), (7, 1), None)
    """
    if q < 2:
        return None
    p = next((d for d in range(2, int(q**0.5) + 1) if q % d == 0), q)
    degree, rest = 0, q
    while rest % p == 0:
        degree, rest = degree + 1, rest // p
    return (p, degree) if rest == 1 else None


@cache
def field(q: int) -> Field:
    """Make the field with q elements.

    Let q = p ** n. The elements are the polynomials over the integers modulo p, modulo one
    polynomial f of degree n. f is the first primitive polynomial in the order of its coefficients:
    the powers of x modulo f run through all q - 1 nonzero elements. So every nonzero element is
    invertible. Products are computed from logarithms to base x.

    Raises
    ------
    ValueError
        If q is not a prime power.

    Examples
    --------
    >>> field(4).multiply.tolist()
    [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
    """
    check_int("q", q, 2)
    parts = prime_power(q)
    if parts is None:
        raise ValueError(
            f"q ({q}) must be a power of a prime; pass one such as 2, 3, 4, 5, 7, 8, 9 or 11"
        )
    p, degree = parts
    powers = _powers_of_x(p, degree)
    logs = np.zeros(q, np.int64)
    logs[powers] = np.arange(q - 1)
    multiply = powers[(logs[:, None] + logs) % (q - 1)]
    multiply[0] = multiply[:, 0] = 0
    places = p ** np.arange(degree)
    digits = np.arange(q)[:, None] // places % p
    add = (digits[:, None] + digits) % p @ places
    return Field(
        q=q,
        p=p,
        degree=degree,
        add=add,
        multiply=multiply,
        powers=powers,
    )


def _powers_of_x(p: int, degree: int) -> Integers:
    """The powers 1, x, x**2, ... modulo the first primitive polynomial, shape (q - 1,)."""
    order = p**degree - 1
    for low in product(range(p), repeat=degree):
        powers = [(1,) + (0,) * (degree - 1)]
        while len(powers) <= order:
            # Multiply by x and subtract the leading coefficient times the modulus.
            lead = powers[-1][-1]
            shifted = (0, *powers[-1][:-1])
            pairs = zip(shifted, low, strict=True)
            powers.append(tuple((a - lead * b) % p for a, b in pairs))
            if powers[-1] == powers[0] or not any(powers[-1]):
                break
        if len(powers) == order + 1 and powers[-1] == powers[0]:
            return np.array(powers[:-1]) @ p ** np.arange(degree)
    raise AssertionError(
        f"the finite field of {p}**{degree} elements must have a primitive polynomial, but none "
        "was found; this is an error of the library, so please report it"
    )
