"""Pages that list the fields of a JSON document, and whether a document has just these fields."""

import re
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
ROW = re.compile(r"^\| (`[^|]*`) \| (.*) \|$", re.MULTILINE)
SECTION = re.compile(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


def fields(text):
    """The form of each field of a table, by its path."""
    return {
        name: form for names, form in ROW.findall(text) for name in re.findall("`([^`]*)`", names)
    }


SHARED = {
    name: fields(text)
    for name, text in SECTION.findall((REFERENCE / "json.md").read_text(encoding="utf-8"))
    if not name.startswith("margin")
}
"""The fields of the forms that several commands share."""


def _name(form):
    """The name of a shared form, which may be a link."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", form)


def expanded(told):
    """The forms of all paths, with those of the shared forms of json.md in place."""
    found = {}
    for path, form in told.items():
        found[path] = form
        for inner, its in SHARED.get(_name(form), {}).items():
            found[f"{path}.{inner}"] = its
    return found


def values_of(value, path=""):
    """Each path of a document with its values; `[]` stands for any place in a list."""
    yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from values_of(inner, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for inner in value:
            yield from values_of(inner, f"{path}[]")


KINDS = {
    "exact number": lambda value: isinstance(value, str) and re.fullmatch(r"[\d./]+", value),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "text": lambda value: isinstance(value, str),
    "true": lambda value: isinstance(value, bool),
    "false": lambda value: value is False,
    "open object": lambda value: isinstance(value, dict),
    "object": lambda value: isinstance(value, dict),
    "open list": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def fits(value, form):
    """Whether a value has one of the kinds that a form names before its colon."""
    said, _, _ = form.partition(":")
    more = " null" if "null" in form else ""
    named = [kind for kind in KINDS if re.search(rf"\b{kind}", said + more)]
    # "exact number" contains "number", and "open object" contains "object".
    named = [kind for kind in named if not any(kind != other and kind in other for other in named)]
    return not named or any(KINDS[kind](value) for kind in named)


def check(document, told):
    forms = expanded(told)
    opened = [path for path, form in forms.items() if "open " in form]
    printed = {}
    for path, value in values_of(document):
        inside = any(path.startswith((f"{outer}.", f"{outer}[")) for outer in opened)
        if path and not inside:
            printed.setdefault(path, []).append(value)
    for path, values in printed.items():
        is_outer = any(other.startswith((f"{path}.", f"{path}[")) for other in forms)
        assert path in forms or is_outer, f"{path} is not on the page"
        assert all(fits(value, forms.get(path, "")) for value in values), (path, values)
    for path, form in forms.items():
        outer = path.rpartition(".")[0]
        is_there = not outer or isinstance((printed.get(outer) or [None])[0], dict)
        assert path in printed or "only" in form or not is_there, f"{path} is not printed"
