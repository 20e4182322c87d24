"""Bars can be told from the page and from the lines on them by their colours, light and dark."""

import re
from importlib import resources

import pytest

LEAST = 3
"""The least contrast of a part of a picture to what is beside it (WCAG 2.1, 1.4.11)."""


def luminance(colour):
    """The relative luminance of a colour such as "#4490c6", as WCAG defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("beside", ["paper", "ink"])
def test_bars_have_a_contrast(scheme, beside):
    style = resources.files("margin.report").joinpath("assets", "page.css").read_text("utf-8")
    rule = re.findall(r":root \{(.*?)\}", style)[scheme]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", rule))
    assert contrast(colours["bar"], colours[beside]) >= LEAST
