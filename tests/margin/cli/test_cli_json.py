"""What the commands print with --json is what docs/reference/json.md says."""

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import COMMANDS, LAST, RUN, run, words
from json_pages import SECTION, check, fields

from margin.cli.main import _as_json

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")


SECTIONS = dict(SECTION.findall(PAGE))
TOLD = {
    name.removeprefix("margin "): fields(text)
    for name, text in SECTIONS.items()
    if name.startswith("margin") and "bench" not in name
}
FREE = {"domain suggest"}
"""Commands whose document has the names of the data."""


def read(text):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_numbers_that_json_does_not_have_are_null():
    """Means of solvers that lost an instance, and bounds that are not known."""
    held = {"mean": math.nan, "bounds": (math.inf, -math.inf, 0.5), "rows": [{"gap": np.nan}]}
    expected = {"mean": None, "bounds": [None, None, 0.5], "rows": [{"gap": None}]}
    assert read(_as_json(held)) == expected


def test_the_page_has_a_section_for_each_command():
    assert {*TOLD} == {name for name in COMMANDS if not name.startswith("bench")}


LINES = [LAST[name] for name in LAST if not name.startswith(("bench", "completion"))]
LINES += [line for line in RUN if RUN[line] in ("release", "plan", "count", "marginal")]
LINES += [
    "margin completion bash",
    "margin plan --domain domain.json --epsilon 1 --delta 1e-6 --rows-per-person 5",
    "margin compare public.csv --domain domain.json --rho 1/3 --runs 2 --mechanisms Uniform",
    "margin domain check people.csv domain.json --unit person_id",
    "margin ledger create new.db --dataset v --rho 0.1 --unit id --rows-per-person 5",
    "margin info people.margin",
]


def command_of(line):
    return max((name for name in COMMANDS if line.startswith(f"margin {name} ")), key=len)


@pytest.mark.slow
@pytest.mark.parametrize("line", dict.fromkeys(LINES))
def test_a_command_prints_the_fields_of_its_page(line, folder, capsys):
    given = words(line)
    name = command_of(line)
    code, out, err = run(capsys, [*given, "--json"])
    assert code == 0, err
    document = read(out)
    if name not in FREE and "--registry" not in given:
        check(document, TOLD[name])


def test_a_ledger_with_charges_and_a_table_that_does_not_fit(folder, capsys):
    start = "release people.csv --domain domain.json --epsilon 1 --ledger agency.db"
    lines = {
        f"{start} --dataset people --label x -o r.margin": 0,
        f"{start} --dataset people -o s.margin": 0,
        "ledger show agency.db": 0,
        "ledger check agency.db --releases .": 2,
        "domain check people.csv d.json": 2,
    }
    (folder / "d.json").write_text('{"sex": ["F"], "nothing": 2}')
    for line, expected in lines.items():
        code, out, err = run(capsys, [*shlex.split(line), "--json"])
        assert code == expected, err
        check(read(out), TOLD[command_of(f"margin {line}")])


def test_what_the_page_does_not_say_is_noticed():
    told = {"a": "integer", "b[].c": "exact number", "d": "text, only with it"}
    check({"a": 1, "b": [{"c": "1/3"}]}, told)
    for wrong in ({"a": 1.5, "b": []}, {"b": []}, {"a": 1, "b": [{"c": 0.1}]}, {"a": 1, "e": 2}):
        with pytest.raises(AssertionError):
            check(wrong, told)
