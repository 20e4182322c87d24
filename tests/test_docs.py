"""Every block of code in the documentation runs, page by page; every link between the pages leads
somewhere."""

import ast
import contextlib
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import margin
from margin.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))

# Code in fences, and set-up that readers do not see in comments.
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$|^<!--python\n(.*?)^-->$", re.DOTALL | re.MULTILINE)
RUN = {"python", "sh"}
SHOWN = {"", "json", "text", "csv", "toml", "yaml", "sql", "console"}
"""Blocks that are output or files, not code."""


def blocks(page):
    for language, code, hidden in BLOCK.findall(page.read_text()):
        yield ("python", hidden) if hidden else (language, code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_languages_are_known(page):
    assert {language for language, _ in blocks(page)} <= RUN | SHOWN


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(language in RUN for language, _ in blocks(page))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_block_of_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for language, code in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, str(page), "exec"), names)
        elif language == "sh":
            shell(code)


def shell(code):
    """Each line: `margin` in this process, anything else in a shell, with this interpreter's
    `margin` and `python`."""
    for line in code.splitlines():
        if line.startswith("margin ") and " > " not in line and "$(" not in line:
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(shlex.split(line)[1:]) == 0, line
            continue
        command = re.sub(
            r"^margin\b", f"{sys.executable} -m margin", re.sub(r"^python\b", sys.executable, line)
        )
        path = os.pathsep.join([str(ROOT), *sys.path])
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"


def test_every_picture_of_the_gallery_is_drawn_by_a_block_of_its_own():
    text = (ROOT / "docs" / "gallery.md").read_text()
    shown = re.findall(r"\]\(figures/(\S+\.png)\)", text)
    drawn = re.findall(r'savefig\("(\S+\.png)"', text)
    assert len(shown) == 10
    assert drawn == shown


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_notebook_runs(tmp_path):
    """In a kernel of its own, all of it; what it shows is of the kinds that are kept in the
    file."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    kept = nbformat.read(ROOT / "docs" / "notebook.ipynb", 4)
    run = nbformat.from_dict(kept)
    nbclient.NotebookClient(
        run, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    assert (tmp_path / "people.margin").exists()

    def kinds(notebook):
        return [
            [output.output_type for output in cell.get("outputs", [])] for cell in notebook.cells
        ]

    assert kinds(run) == kinds(kept)


INSTALLS = re.compile(r"pip (?:install|wheel|download) [^`\n#)]*")
FROM_AN_INDEX = {"matplotlib", "cryptography", "benchopt", "pre-commit", "adbc-driver-postgresql"}
"""Packages that are not this one, which pip may look for in its index."""


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
def test_a_copy_of_the_repository_is_installed_by_a_path(page):
    """pip takes a bare name, such as margin or checkout[sign], for a package of its index, also
    beside a folder of this name, unless an address follows or it may use no index."""
    for command in INSTALLS.findall(page.read_text()):
        words = shlex.split(command.partition(" && ")[0])[2:]
        if "--no-index" in words:
            continue
        # The word after an option of one letter is its value.
        named = [
            word
            for before, word in zip(["", *words], words, strict=False)
            if not word.startswith("-") and before not in ("-c", "-w")
        ]
        for word in named:
            is_path = word.startswith(".") or "/" in word.partition("[")[0]
            assert is_path or " @ git+" in word or word in FROM_AN_INDEX, command


# A mechanism is documented by a section of one of the pages in docs/mechanisms, whose heading is
# its name as code.
SECTION = re.compile(r"^## `(\w+)`$\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
SECTIONS = [
    found
    for page in sorted((ROOT / "docs" / "mechanisms").glob("*.md"))
    for found in SECTION.findall(page.read_text())
]


STRATEGIES = set(margin.mechanisms.strategies.__all__) - set(margin.mechanisms.__all__)


def test_every_mechanism_has_a_section_and_every_section_a_mechanism():
    named = [name for name, _ in SECTIONS]
    assert sorted(named) == sorted({*margin.mechanisms.__all__, *STRATEGIES})


@pytest.mark.parametrize(("name", "text"), SECTIONS, ids=[name for name, _ in SECTIONS])
def test_a_section_states_problem_source_guarantee_use_and_an_example(name, text):
    parts = re.findall(r"^\*\*(Problem|Source|Guarantee|Use it)\b", text, re.MULTILINE)
    assert parts == ["Problem", "Source", "Guarantee", "Use it"]
    assert re.search(r"^\$\$.+\$\$", text, re.MULTILINE)
    # Strategies are in a room of their own; the most used mechanisms are in `margin` too.
    room = "strategies" if name in STRATEGIES else r"margin(\.mechanisms)?"
    examples = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert any(re.search(rf"\b{room}\.{name}\(", code) for code in examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_formulas_can_be_shown(page):
    """What the site's converter does not know it leaves as it stands, with its backslash."""
    latex = pytest.importorskip("latex2mathml.converter", reason="latex2mathml is not installed")
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for formula in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, re.DOTALL):
        shown = latex.convert("".join(formula))
        assert "\\" not in re.sub(r'alttext="[^"]*"', "", shown), formula


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


# A gate method is proved on a page of docs/proofs that has its name, beside the tests that check
# it.
PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def functions(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_method_of_the_gate_has_a_proof():
    methods = {
        name
        for name, _ in inspect.getmembers(margin.Private, inspect.isfunction)
        if not name.startswith("_")
    }
    pages = {page.stem for page in PROOFS}
    # These read no row; each is on the page of another method.
    assert methods - pages == {"affords", "begin", "contest"}
    where = (("affords", "sample_queries"), ("begin", "index"), ("contest", "select"))
    for name, page in where:
        assert f"`{name}`" in (ROOT / "docs" / "proofs" / f"{page}.md").read_text()


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_a_proof_has_its_parts_and_its_tests_exist(page):
    text = page.read_text()
    parts = ["Theorem", "Definition", "Sensitivity", "Public", "Proof"]
    if hasattr(margin.Private, page.stem):  # other pages are about what methods share
        assert [part for part in parts if part not in text] == []
    named = TEST.findall(text)
    assert named
    for path, function in named:
        assert not function or function in functions(path), f"{page.name} names {path}::{function}"


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_a_proof_names_code_that_exists(page):
    for path in re.findall(r"`(margin/[\w/.]+\.py)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_every_proof_is_in_the_table_and_in_the_navigation():
    index, navigation = (
        (ROOT / "docs" / "proofs" / "index.md").read_text(),
        (ROOT / "mkdocs.yml").read_text(),
    )
    for page in PROOFS:
        assert f"proofs/{page.name}" in navigation
        assert page.stem == "index" or f"({page.name})" in index
