"""Pages of the documentation whose figures come from kept readings.

A page is a template in `experiments/pages`, at the same place as the page in `docs`. It is Markdown
with expressions such as `{{ dpsense("ndcg@20", method="DPSense") | .3f }}`: a Python expression,
and a format if there is a bar. The names are the studies whose readings are kept (`_readings`), and
the functions of `_page_tools`.

A figure in the text itself must be declared. The first line of a template lists the numbers that
are not measured, such as parameters and what a paper reports: `<!-- given: 0.001; 20 -->`. Figures
are decimals, "N of M", and numbers before a unit. Figures of an older measurement, whose readings
were not kept, are written `{{ older("0.27") }}`, and the page says when they were made.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import _page_tools
from ._readings import Readings, kept

PAGES = Path(__file__).parent / "pages"
"""The folder of the templates."""
DOCS = Path(__file__).parent.parent / "docs"

_EXPRESSION = re.compile(r"\{\{(.+?)(?: \| ([^{}|]*?))? ?\}\}", re.DOTALL)
_GIVEN = re.compile(r"\A<!-- given:(.*?)-->\n", re.DOTALL)
# Text that holds no figures: code, comments, formulas, expressions, and the targets of links.
_NO_FIGURES = re.compile(
    r"^```.*?^```$|<!--.*?-->|\$\$.+?\$\$|\$[^$\n]+\$|\{\{.+?\}\}|`[^`\n]*`|\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
_UNIT = r"(?:%|times\b|s\b|ms\b|seconds?\b|minutes?\b|hours?\b|[MG]B\b|microseconds?\b)"
_WHOLE = r"\d+(?:,\d{3})*"
_FIGURE = re.compile(
    rf"(?<![\w.])(?:{_WHOLE}\s+of\s+{_WHOLE}|\d*\.\d+|{_WHOLE}(?=\s?{_UNIT}))(?![\w])"
)


def pages() -> Iterator[tuple[Path, Path]]:
    """Each template with the page that is made from it."""
    for template in sorted(PAGES.rglob("*.md")):
        yield template, DOCS / template.relative_to(PAGES)


def write() -> list[Path]:
    """Make all pages anew; return those that changed.

    Raises
    ------
    ValueError
        If a template has a figure that can not be traced.
    LookupError
        If an expression asks for a reading that there is not.
    """
    readings, changed = kept(), []
    for template, page in pages():
        text = template.read_text()
        if found := untraced(text):
            raise ValueError(f"{template.name} has figures that no reading gives: {found}")
        made = rendered(text, readings, template)
        if not page.exists() or page.read_text() != made:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(made)
            changed.append(page)
    return changed


def rendered(template: str, readings: dict[str, Readings], path: Path) -> str:
    """The page of a template.

    Raises
    ------
    LookupError
        If an expression asks for a reading that there is not.
    """
    names = {name: tool for name, tool in vars(_page_tools).items() if not name.startswith("_")}
    # These functions tell of all studies.
    names |= {
        "traced": _traced,
        "not_traced": _not_traced,
        "manifests": lambda: _page_tools.manifests(readings),
        "held": lambda *studies: _page_tools.held(readings, *studies),
    }

    def value(match: re.Match[str]) -> str:
        # The templates are files of this repository, as trusted as its code.
        found = eval(match[1].strip(), names | dict(readings))
        return format(found, (match[2] or "").strip())

    blocks = re.split(r"(\n{2,})", _GIVEN.sub("", template))
    made = [_filled(block, _EXPRESSION.sub(value, block)) for block in blocks]
    place = path.relative_to(PAGES.parent.parent) if path.is_relative_to(PAGES) else path
    note = f"<!-- Made from {place.as_posix()} by `python -m experiments pages`. -->\n\n"
    return note + "".join(made)


def _filled(block: str, made: str) -> str:
    """A paragraph or a list with its lines filled again, if figures were put in."""
    if "{{" not in block or "\n\n" in made or made.startswith(("|", "<", "#", "!")):
        return made
    if re.search(r"^[|]", made, re.MULTILINE):
        return made
    end = "\n" if made.endswith("\n") else ""
    return "\n".join(_paragraph(item) for item in re.split(r"\n(?=- )", made)) + end


def _paragraph(text: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        100,
        subsequent_indent="  " if text.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def untraced(template: str) -> list[str]:
    """The figures in the text of a template that are not declared as given."""
    head = _GIVEN.match(template)
    given = {one.strip() for one in head[1].split(";")} if head else set()
    text = _NO_FIGURES.sub(" ", template)
    figures = (" ".join(match[0].split()) for match in _FIGURE.finditer(text))
    return [figure for figure in figures if figure not in given]


def _traced() -> str:
    """Links from docs/results.md to the pages whose figures are traced."""
    return _links(page for _, page in pages())


def _not_traced() -> str:
    """Links from docs/results.md to the other pages that report a study."""
    made = {page for _, page in pages()}
    found = {*(DOCS / "results").glob("*.md"), DOCS / "dualquery.md", DOCS / "best_response.md"}
    return _links(sorted(found - made))


def _links(found: Iterable[Path]) -> str:
    names = (page.relative_to(DOCS).as_posix() for page in found)
    return ", ".join(f"[{name}]({name})" for name in names)
