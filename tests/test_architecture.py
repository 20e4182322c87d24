"""The shape of the project: who may import whom, and what is installed."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ["margin", "solvers", "designs"]


def python_files(folder):
    return [
        path
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not set(path.parts[:-1]) & {"__pycache__"}
    ]


def imports(path):
    """The absolute names of what a file imports, as written in the checkout."""
    package = ["margin", *path.relative_to(ROOT).parent.parts]
    if path.is_relative_to(ROOT / "margin"):
        package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def modules():
    """Every module by its name, with its file."""
    found = {}
    for folder in FOLDERS:
        for path in python_files(folder):
            parts = path.relative_to(ROOT).with_suffix("").parts
            # These two are links to the folders at the top.
            if parts[:2] in (("margin", "solvers"), ("margin", "designs")):
                continue
            name = ".".join(parts if folder == "margin" else ("margin", *parts))
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}

# The rooms of the tables in docs/design.md, from the lowest to the highest.
DESIGN = (ROOT / "docs" / "design.md").read_text()
ORDER = re.findall(r"^\| `(margin\.[\w.]+)` \|", DESIGN, re.MULTILINE)


def imports_at_run_time(tree):
    """The statements that import: inside functions too, but not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from imports_at_run_time(node)


@cache
def needs(name):
    """The modules that a module imports when it runs."""
    return tuple(_needs(name))


def _needs(name):
    path = MODULES[name]
    package = name.split(".") if name in PACKAGES else name.split(".")[:-1]
    for node in imports_at_run_time(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
            continue
        base = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if full in MODULES or module in MODULES:
                yield full if full in MODULES else module


def room(name, other):
    """The room of a module as another sees it: the longest name in the tables that holds it.

    `solvers` and `designs` have tables of their own: from outside each is one room.
    """
    top = name.split(".")[1]
    if top in ("solvers", "designs") and other.split(".")[1] != top:
        return f"margin.{top}"
    inside = [listed for listed in ORDER if name == listed or name.startswith(f"{listed}.")]
    return max(inside, key=len)


def test_no_file_imports_a_file_that_imports_it():
    edges = [(name, other) for name in MODULES for other in needs(name) if other != name]
    circles = [
        circle for circle in nx.strongly_connected_components(nx.DiGraph(edges)) if len(circle) > 1
    ]
    assert not circles


def test_the_tables_list_rooms_that_exist():
    assert len(set(ORDER)) == len(ORDER) > 50
    assert not [listed for listed in ORDER if listed not in MODULES]


def test_rooms_import_in_one_direction():
    height = {listed: place for place, listed in enumerate(ORDER)}
    # The face of a package may import whatever lies in it.
    files = [name for name in MODULES if name not in PACKAGES]
    wrong = [
        f"{name} imports {other}"
        for name in files
        for other in needs(name)
        if other != "margin" and height[room(name, other)] < height[room(other, name)]
    ]
    assert not wrong


def test_no_folder_is_crowded():
    for folder in {path.parent for path in MODULES.values()}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 20, folder


def test_calls_to_higher_rooms_are_looked_up_in_two_places():
    for name, path in MODULES.items():
        if name not in ("margin._upwards", "margin.solvers.stated"):
            text = path.read_text()
            assert not re.search(r"import_module\(f?.(margin|\.|\{__package__\}\.bench)", text), (
                name
            )


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [("solvers", {"solvers", "interrupts"}), ("designs", {"designs", "solvers"})],
)
def test_solvers_and_designs_know_nothing_of_privacy(folder, allowed):
    for path in python_files(folder):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "margin":
                assert len(parts) == 1 or parts[1] in allowed, f"{path.name} imports {name}"
        words = {
            word.lower()
            for node in ast.walk(ast.parse(path.read_text()))
            for word in [getattr(node, "id", "")]
        }
        assert not words & {"epsilon", "sensitivity", "privacy", "budget"}, path


def test_nothing_imports_experiments_or_tests():
    for folder in FOLDERS:
        for path in python_files(folder):
            assert not {name.split(".")[0] for name in imports(path)} & {"experiments", "tests"}, (
                path
            )


def test_the_installed_packages_are_the_folders():
    listed = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    found = {
        "margin." + ".".join(path.parent.relative_to(ROOT).parts) if folder != "margin" else
        ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
        if path.relative_to(ROOT).parts[:2] not in {("margin", "solvers"), ("margin", "designs")}
    }  # fmt: skip
    assert found == listed


@pytest.mark.parametrize("folder", ["solvers", "designs"])
def test_the_folders_are_imported_by_one_name_only(folder):
    # The checkout is named: without symbolic links processes of the tests leave it out.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and f"margin.{folder}" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("folder", ["solvers", "designs"])
def test_a_users_own_file_of_that_name_does_no_harm(folder, tmp_path):
    (tmp_path / f"{folder}.py").write_text("raise RuntimeError('the wrong file')")
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    code = f"{path}; import margin; print(margin.{folder}.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"margin.{folder}"


def test_no_file_speaks_of_where_it_was_made():
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(p for f in FOLDERS for p in python_files(f)),
    ]:
        text = path.read_text()
        assert "../shared" not in text and "/work/" not in text, path
