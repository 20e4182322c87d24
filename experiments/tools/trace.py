"""Pages of the documentation whose figures come from kept readings.

A page is a template in `experiments/pages`, at the same place as the page in `docs`. It is Markdown
with expressions such as `{{ dpsense("ndcg@20", method="DPSense") | .3f }}`: a Python expression,
and a format if there is a bar. The names are the studies whose readings are kept (`readings`), and
the functions of `page_tools`, `page_tables` and `page_speeds`.

A figure in the text itself must be declared. The first line of a template lists the numbers that
are not measured, such as parameters and what a paper reports: `<!-- given: 0.001; 20 -->`. Figures
are decimals, "N of M", numbers before a unit, and cells of a table that are one number.

All other pages, the notebook and README.md are written by hand. They hold no measured figures, so
that each of their figures is declared in the same way.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from experiments.tools import page_speeds, page_tables, page_tools
from experiments.tools.readings import Readings, kept

PAGES = Path(__file__).parent.parent / "pages"
"""The folder of the templates."""
DOCS = Path(__file__).parent.parent.parent / "docs"
NOT_TRACED: dict[str, str] = {}
"""Pages whose figures are not traced, each with the reason."""

_EXPRESSION = re.compile(r"\{\{(.+?)(?: \| ([^{}|]*?))? ?\}\}", re.DOTALL)
# On the first line, or on the first one after a head between two lines of dashes.
_GIVEN = re.compile(r"(?:\A|(?<=\n---\n))<!-- given:(.*?)-->\n", re.DOTALL)
# Text that holds no figures: code, comments, formulas, expressions, and the targets of links.
_NO_FIGURES = re.compile(
    r"^```.*?^```$|<!--.*?-->|\$\$.+?\$\$|\$[^$\n]+\$|\{\{.+?\}\}|`[^`\n]*`|\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
_UNIT = r"(?:%|percent\b|times\b|[mnu]?s\b|(?:micro)?seconds?\b|minutes?\b|hours?\b|[MG]B\b)"
_WHOLE = r"\d+(?:,\d{3})*"
_FIGURE = re.compile(
    rf"(?<![\w.])(?:{_WHOLE}\s+of\s+{_WHOLE}|\d*\.\d+|{_WHOLE}(?=\s?{_UNIT}))(?![\w])"
    rf"|(?<=[|])[ *]*{_WHOLE}[ *]*(?=[|])"
)


def pages() -> Iterator[tuple[Path, Path]]:
    """Each template with the page that is made from it."""
    for template in sorted(PAGES.rglob("*.md")):
        yield template, DOCS / template.relative_to(PAGES)


def by_hand() -> Iterator[Path]:
    """Each page that is not made from a template, the notebook, and README.md."""
    made = {page for _, page in pages()}
    found = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"), DOCS.parent / "README.md"]
    yield from sorted(page for page in found if page not in made)


def text_of(page: Path) -> str:
    """The Markdown of a page; of a notebook that of its cells of text."""
    if page.suffix != ".ipynb":
        return page.read_text()
    cells = json.loads(page.read_text())["cells"]
    return "\n\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "markdown")


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
    tools = vars(page_tools) | vars(page_tables) | vars(page_speeds)
    names = {name: tool for name, tool in tools.items() if not name.startswith("_")}
    # These functions tell of all studies.
    names |= {
        "traced": _traced,
        "not_traced": _not_traced,
        "manifests": lambda: page_tools.manifests(readings),
        "held": lambda *studies: page_tools.held(readings, *studies),
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
    given = _declared(template)
    return [figure for figure in _figures(template) if figure not in given]


def declared_in_vain(template: str) -> list[str]:
    """The figures that are declared as given, but are not in the text."""
    return sorted(_declared(template) - {*_figures(template)})


def _declared(template: str) -> set[str]:
    head = _GIVEN.search(template)
    return {one.strip() for one in head[1].split(";")} if head else set()


def _figures(template: str) -> list[str]:
    text = _NO_FIGURES.sub(" ", template)
    return [" ".join(match[0].strip("* ").split()) for match in _FIGURE.finditer(text)]


def _traced() -> str:
    """Links from docs/results.md to the pages whose figures are traced."""
    return _links(page for _, page in pages())


def _not_traced() -> str:
    """A sentence about each page whose figures are not traced; "" if there is none."""
    lines = [f"[{name}]({name}): {reason}." for name, reason in NOT_TRACED.items()]
    return "Not traced: " + " ".join(lines) if lines else ""


def _links(found: Iterable[Path]) -> str:
    names = (page.relative_to(DOCS).as_posix() for page in found)
    return ", ".join(f"[{name}]({name})" for name in names)
