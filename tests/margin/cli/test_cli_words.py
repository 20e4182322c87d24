"""Messages name options and keys of JSON, not arguments of Python."""

import pyarrow as pa
import pyarrow.csv
import pytest

from margin.cli.arguments.words import in_words_of_the_command
from margin.cli.main import main

OPTIONS = ["--unit", "--rows-per-person", "--replace-row"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "use the same unit=, rows_per_person= and neighbours=",
            "use the same --unit, --rows-per-person and --replace-row",
        ),
        ("leave unit= out", "leave --unit out"),
        ("as in PureDP(1, rows_per_person=3)", "as in PureDP(1, rows_per_person=3)"),
        ("choose another with reconstruction=", "choose another with reconstruction="),
        ("declare other=..., or more", 'declare "other": LABEL, or more'),
        ("the files of files={'a b': ...} hold", "the files of --table a b=... hold"),
        ("or add --force (replace=True) to", "or add --force to"),
    ],
)
def test_arguments_become_options_of_the_command(message, expected):
    assert in_words_of_the_command(message, OPTIONS) == expected


@pytest.mark.parametrize("command", ["release", "plan", "compare"])
def test_the_sizes_of_views_are_a_workload(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--epsilon", "1", "--ways", "2"])
    assert caught.value.code == 2
    assert "no option --ways: name the sizes of views as in --work" in capsys.readouterr().err


def test_a_refused_release_names_an_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(pa.table({"a": [0, 1]}), "t.csv")
    (tmp_path / "d.json").write_text('{"a": 1}')
    words = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "-o", "o.margin"]
    assert main(words) == 2
    told = capsys.readouterr().err
    assert '"other": LABEL' in told and "other=" not in told
