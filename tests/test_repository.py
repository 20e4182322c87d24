"""The files about the project agree with each other."""

import datetime
import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "margin" / "_version.py").read_text())[1]

# Packages that have another name on conda-forge.
CONDA_NAMES = {"cvxpy": "cvxpy-base", "duckdb": "python-duckdb", "lazy_loader": "lazy-loader"}


@pytest.mark.parametrize("name", ["CITATION.cff", "conda/recipe.yaml"])
def test_the_version_and_the_licence_are_the_same_everywhere(name):
    text = (ROOT / name).read_text()
    assert re.search(r"^ *version: (.+)$", text, re.MULTILINE)[1] == VERSION
    assert re.search(r"^ *license: (.+)$", text, re.MULTILINE)[1] == PROJECT["license"]


def test_the_entries_for_bibtex_are_those_of_the_other_files():
    page = (ROOT / "docs" / "citing.md").read_text()
    version, year = re.search(r"version = {(.+)},\n  year = {(.+)}", page).groups()
    citation = (ROOT / "CITATION.cff").read_text()
    assert version == VERSION and f"date-released: {year}-" in citation
    assert re.search(r"title = {(margin: .+)},", page)[1] in citation
    paper = (ROOT / "docs" / "paper" / "paper.bib").read_text()
    entries = re.findall(r"^@\w+{(\w+),\n(.*?)^}$", page, re.MULTILINE | re.DOTALL)
    for key, entry in entries:
        assert entry in paper or f"{{{key}," not in paper, key
    named = re.findall(r"\| `(\w+)` \|$", page, re.MULTILINE)
    assert ["margin", *named] == [key for key, _ in entries]


def test_the_citation_is_complete():
    """The fields that version 1.2.0 of the Citation File Format requires, and those that we use."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = (ROOT / "CITATION.cff").read_text()
    cited = yaml.safe_load(text)
    assert cited["cff-version"] == "1.2.0" and cited["message"] and cited["title"]
    assert cited["authors"] and isinstance(cited["date-released"], datetime.date)
    entries = (ROOT / "docs" / "paper" / "paper.bib").read_text()
    for reference in cited["references"]:
        assert {"type", "title", "authors", "year", "notes"} <= set(reference)
        assert all(
            set(author) == {"family-names", "given-names"} for author in reference["authors"]
        )
        assert reference.get("doi", "") in entries
        assert reference["title"].split()[0].strip(":").lower() in entries.lower()
    names = " ".join(reference["notes"] for reference in cited["references"])
    assert "PriView" in names and "DualQuery" in names


def test_the_conda_package_needs_what_the_wheel_needs():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    section = recipe.split("  run:\n")[1].split("\n\n")[0]
    listed = {line.strip("- ").replace(" ", "") for line in section.splitlines()}
    needed = {f"python{PROJECT['requires-python']}"}
    for requirement in PROJECT["dependencies"]:
        name, bounds = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()
        needed.add(CONDA_NAMES.get(name, name) + bounds)
    assert listed == needed


VERSIONS = (ROOT / "constraints.txt").read_text()
TESTED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", VERSIONS, re.MULTILINE)
}
"""The version of each package with which all tests passed."""


def needs_of(name, extras, where):
    """The requirements of a package in the tested version; none are known of another one."""
    try:
        if version(name) != TESTED[name]:
            return []
    except PackageNotFoundError:
        return []
    lines = [Requirement(line) for line in requires(name) or []]
    return [
        one
        for one in lines
        if one.marker is None
        or any(one.marker.evaluate({**where, "extra": extra}) for extra in extras or {""})
    ]


def test_the_tested_version_of_all_that_the_wheel_and_its_extras_need_is_recorded():
    """Of what these packages need, too, as far as the tested versions are installed here."""
    full, python = re.search(r": Python ((\d+\.\d+)\.\d+) on Linux", VERSIONS).groups()
    where = {
        "python_version": python,
        "python_full_version": full,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
    }
    extras = PROJECT["optional-dependencies"].values()
    waiting = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    waiting = [Requirement(line) for line in waiting]
    seen = set()
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        if str(needed) in seen or name == "setuptools":
            continue
        seen.add(str(needed))
        assert needed.specifier.contains(TESTED[name], prereleases=True), str(needed)
        waiting += needs_of(name, needed.extras, where)
    assert len(seen) > len(PROJECT["dependencies"])


def test_the_checks_of_a_change_install_the_recorded_versions():
    script = (ROOT / ".ci" / "run").read_text()
    assert "versions=(--constraint constraints.txt)" in script
    assert 'install --quiet "${versions[@]}"' in script


def test_the_workflow_calls_the_same_script_as_a_developer():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run" in workflow
    assert "core.symlinks false" in workflow


def test_every_citation_of_the_paper_has_an_entry():
    folder = ROOT / "docs" / "paper"
    cited = set(re.findall(r"@(\w+)", (folder / "paper.md").read_text()))
    entries = set(re.findall(r"^@\w+\{(\w+),", (folder / "paper.bib").read_text(), re.MULTILINE))
    assert cited == entries


def test_the_papers_pictures_exist():
    folder = ROOT / "docs" / "paper"
    pictures = re.findall(r"\]\((\S+\.png)\)", (folder / "paper.md").read_text())
    assert pictures
    assert all((folder / picture).exists() for picture in pictures)
