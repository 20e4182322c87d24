"""Every block of code in the documentation runs, page by page; every link between the pages leads somewhere."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    """Each line with this interpreter's `margin` and `python`."""
    for line in code.splitlines():
        command = re.sub(r"^margin\b", f"{sys.executable} -m margin", re.sub(r"^python\b", sys.executable, line))
        path = os.pathsep.join([str(ROOT), *sys.path])
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target
