"""Every public name is typed and documented: parameters, shapes of arrays, errors."""

import ast
import dataclasses
import importlib
import inspect
import re
import textwrap

import pytest

import margin

MODULES = [
    *(f"margin.{name}" for name in margin.__all__ if inspect.ismodule(getattr(margin, name))),
    *(
        "margin.plots.lattice",
        "margin.plots.results",
        "margin.solvers.bench",
        "margin.domain.exports",
        "margin.synopses.exports",
        "margin.mechanisms.strategies",
        "margin.private",
        "margin.privacy.budget",
        "margin.privacy.account",
        "margin.data.suggest",
    ),
]
REFERENCE = re.compile(r"\b(?:as (?:in|for)|those of|[Ss]ee) `(?:\w+\.)*(\w+)`|^`(\w+)` for")


def public():
    """Every public function, class and method by its full name; methods with their class."""
    named = [getattr(margin, name) for name in margin.__all__]
    for module in map(importlib.import_module, MODULES):
        named += [getattr(module, name) for name in module.__all__]
    found = {}
    for item in named:
        if not (inspect.isclass(item) or inspect.isfunction(item)):
            continue
        found[f"{item.__module__}.{item.__qualname__}"] = (item, None)
        for name, member in vars(item).items() if inspect.isclass(item) else ():
            # Properties and class methods keep their function in an attribute.
            inner = (
                getattr(member, "fget", None)
                or getattr(member, "func", None)
                or getattr(member, "__func__", member)
            )
            if not name.startswith("_") and inspect.isfunction(inner):
                found[f"{item.__module__}.{item.__qualname__}.{name}"] = (inner, item)
    return found


PUBLIC = public()
BY_NAME = {name.rpartition(".")[2]: item for name, (item, _) in PUBLIC.items()}


def told(item, owner, seen=()):
    """The docstrings of an item, its bases and its class, and of the items they refer to."""
    texts = [
        inspect.getdoc(base) or ""
        for base in (item.__mro__[:-1] if inspect.isclass(item) else [item])
    ]
    if owner is not None:
        texts += [inspect.getdoc(base) or "" for base in owner.__mro__[:-1]]
        texts += [
            inspect.getdoc(getattr(base, item.__name__, None)) or "" for base in owner.__mro__[1:-1]
        ]
    for found in REFERENCE.findall("\n".join(texts)):
        other = BY_NAME.get(found[0] or found[1])
        if other is not None and other not in (item, *seen):
            texts.append(told(other, None, (item, *seen)))
    return "\n".join(texts)


def is_protocol(item):
    return getattr(item, "_is_protocol", False)


def missing(item, owner=None):
    """The facts that the docstring and the types of an item lack."""
    lacks = []
    own = item.__doc__ or (
        owner
        and any(getattr(getattr(b, item.__name__, 0), "__doc__", 0) for b in owner.__mro__[1:-1])
    )
    if not own:
        lacks.append("a docstring")
    text = told(item, owner)
    # The `__init__` of a dataclass is generated from its fields. Every dataclass raises an error
    # if a field is malformed, so this need not be documented.
    made = None if dataclasses.is_dataclass(item) else vars(item).get("__init__")
    function = item if inspect.isfunction(item) else made
    if inspect.isfunction(function) and not is_protocol(item):
        signature = inspect.signature(function)
        parameters = [
            each for each in signature.parameters.values() if each.name not in ("self", "cls")
        ]
        lacks += [
            f"the type of {each.name}" for each in parameters if each.annotation is each.empty
        ]
        if signature.return_annotation is signature.empty:
            lacks.append("the type of what it returns")
        returned = str(signature.return_annotation)
        if re.search(r"ndarray|NDArray|Floats|Integers|Codes", returned) and not re.search(
            r"[Ss]hape|[Aa]rray|\bSee `", text
        ):
            lacks.append("the shape of its array")
        lacks += [f"when {error} is raised" for error in raised(function) if not names(error, text)]
    named = (
        [each.name for each in dataclasses.fields(item) if each.init]
        if dataclasses.is_dataclass(item)
        else []
    )
    # A class with attributes and without parameters is a result, which only the library makes.
    result = "Attributes\n---" in text and "Parameters\n---" not in text
    if (
        not named
        and inspect.isfunction(function)
        and owner is None
        and not is_protocol(item)
        and not result
    ):
        named = [name for name in inspect.signature(function).parameters if name != "self"]
    # If there is only one parameter, the first line of the docstring describes it.
    lacks += [
        f"what {name} is"
        for name in named
        if len(named) > 1 and not name.startswith("_") and not re.search(rf"\b{name}\b", text)
    ]
    return lacks


def raised(function):
    """The names of the errors that the function itself raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [
        node.exc
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    ]
    return {
        call.func.id
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id.endswith("Error")
    }


def names(error, text):
    kind = getattr(margin.errors, error, None)
    return (
        any(base.__name__ in text for base in kind.__mro__[:-4])
        if kind
        else error in text or error == "UnicodeError"
    )


def test_the_walk_sees_what_is_public():
    assert {
        "margin.release.release",
        "margin.mechanisms.views.priview.PriView.paper",
        "margin.domain.marginal.Marginal.interval",
    } <= set(PUBLIC)
    assert len(PUBLIC) > 300


@pytest.mark.parametrize("name", PUBLIC)
def test_it_is_typed_and_documented(name):
    assert missing(*PUBLIC[name]) == []


def test_what_is_missing_is_found():
    def undocumented(first: int, second) -> None: ...

    def documented(first: int, second: float) -> "np.ndarray":  # noqa: F821
        """Add `first`."""
        raise margin.DomainError("no")

    def raising() -> None:
        """Do nothing."""
        raise DomainError("no")  # noqa: F821

    assert missing(undocumented) == [
        "a docstring",
        "the type of second",
        "what first is",
        "what second is",
    ]
    assert missing(documented) == ["the shape of its array", "what second is"]
    assert missing(raising) == ["when DomainError is raised"]


TOP = [
    item
    for item in (getattr(margin, name) for name in margin.__all__)
    if inspect.isclass(item) or inspect.isfunction(item)
]


@pytest.mark.parametrize("item", TOP, ids=lambda item: item.__name__)
def test_the_docstring_of_a_name_at_the_top_has_an_example(item):
    assert ">>>" in (item.__doc__ or "")
