"""Numbers as text, exact to the last bit."""

__all__ = ["written"]


def written(value: float) -> str:
    """The shortest text that is read as the same number; whole numbers have no point.

    Examples
    --------
    >>> written(3.0), written(0.1), written(1e300)
    ('3', '0.1', '1e+300')
    """
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return repr(float(value))
