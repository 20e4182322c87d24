"""The shape of the project: who may import whom, and what is installed."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

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


@pytest.mark.parametrize(
    ("folder", "allowed"), [("solvers", {"solvers"}), ("designs", {"designs", "solvers"})]
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
        if "margin/solvers" not in path.as_posix() and "margin/designs" not in path.as_posix()
    }  # fmt: skip
    assert found == listed


@pytest.mark.parametrize("folder", ["solvers", "designs"])
def test_the_folders_are_imported_by_one_name_only(folder):
    done = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and f"margin.{folder}" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("folder", ["solvers", "designs"])
def test_a_users_own_file_of_that_name_does_no_harm(folder, tmp_path):
    (tmp_path / f"{folder}.py").write_text("raise RuntimeError('the wrong file')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import margin; print(margin.{folder}.__name__)"
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
