"""Every command behaves as users expect: each test checks one behaviour of all commands."""

import argparse
import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import COMMANDS, EXAMPLES, LAST, QUICK, RUN, SHELLS, run, words

import margin
from margin.cli.arguments.mechanisms import MECHANISMS, mechanism_of
from margin.cli.arguments.written import split_mechanisms
from margin.cli.common import painted
from margin.cli.compare import _mechanism as mechanism_to_compare
from margin.cli.main import main
from margin.data import count
from margin.interrupts.progress import _Stages, progress
from margin.interrupts.share import is_heard


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples_of_the_command(name, capsys):
    code, out, _ = run(capsys, [*name.split(), "--help"])
    assert code == 0 and "examples:\n  " in out and EXAMPLES[name]
    assert all(f"margin {name}" in line for line in EXAMPLES[name])
    assert "--json" in out


@pytest.mark.slow
@pytest.mark.parametrize("line", RUN)
def test_every_example_runs_and_colours_nothing(line, folder, capsys):
    code, out, err = run(capsys, words(line))
    assert code == 0, err
    assert "\x1b" not in out and "\x1b" not in err
    assert out or "explore" in line


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_json_is_all_that_is_printed(name, folder, capsys):
    code, out, err = run(capsys, [*words(LAST[name]), "--json"])
    assert code == 0, err
    assert isinstance(json.loads(out), dict)


def test_json_agrees_with_python(folder, capsys):
    synopsis = margin.load("people.margin")
    _, out, _ = run(capsys, ["marginal", "people.margin", "sex", "age", "--json"])
    assert json.loads(out)["counts"] == synopsis.marginal(["sex", "age"]).counts.tolist()
    _, out, _ = run(capsys, ["info", "people.margin", "--json"])
    assert margin.Domain(json.loads(out)["domain"]) == synopsis.domain
    spent = {**synopsis.spent.to_json(), "rows_per_person": 1}
    assert json.loads(out)["spent"] == spent
    assert json.loads(out)["views"] == [list(names) for names in synopsis.names]
    _, out, _ = run(capsys, ["design", "9", "6", "2", "--json"])
    assert len(json.loads(out)["blocks"]) == 3 == json.loads(out)["bound"]


@pytest.mark.parametrize(
    ("words", "is_optimal", "told"),
    [
        ("9 6 2", True, "3 (Schonheim): no smaller design exists"),
        ("10 5 3", True, "but best possible: the table says that no smaller design exists"),
        ("14 6 3", False, "% larger\n"),
    ],
)
def test_a_design_that_is_best_possible_is_told(capsys, words, is_optimal, told):
    _, out, _ = run(capsys, ["design", *words.split()])
    assert told in out
    _, out, _ = run(capsys, ["design", *words.split(), "--json"])
    assert json.loads(out)["optimal"] is is_optimal


WRITERS = {
    "bench export": ["bench", "export", "cover-design-7-3-2", "x.mps"],
    "demo": ["demo", "-o", "x.margin"],
    "domain suggest": ["domain", "suggest", "people.csv", "-o", "x.json"],
    "release": [
        "release",
        "people.csv",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "-o",
        "x.margin",
    ],
    "report": ["report", "people.margin", "-o", "x.html"],
    "records": ["records", "people.margin", "-n", "5", "-o", "x.csv"],
    "plan": [
        "plan",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "--workload",
        "1way",
        "--picture",
        "x.png",
    ],
    "compare": shlex.split(
        "compare public.csv --domain domain.json --epsilon 1 --runs 1 --mechanisms direct "
        "--picture x.png"
    ),
}


def test_the_commands_that_write_files_are_these():
    writers = {name for name, parser in COMMANDS.items() if "--force" in parser.format_usage()}
    # `publish` writes a folder, `bench show` several files: their tests are elsewhere.
    assert writers == {*WRITERS, "publish", "bench show"}


@pytest.mark.parametrize("name", WRITERS)
def test_no_file_is_replaced_unless_told(name, folder, capsys):
    (path,) = (folder / word for word in WRITERS[name] if word.startswith("x."))
    path.write_text("mine")
    code, out, err = run(capsys, WRITERS[name])
    assert (
        code == 2
        and out == ""
        and path.name in err
        and "--force" in err
        and path.read_text() == "mine"
    )
    code, _, err = run(capsys, [*WRITERS[name], "--force"])
    assert code == 0 and path.read_bytes() != b"mine", err


@pytest.mark.parametrize("name", WRITERS)
def test_no_other_file_is_touched(name, folder, capsys):
    """Files with similar names, such as OUT.margin.trial and rows.csv.part, belong to the user."""
    (path,) = (folder / word for word in WRITERS[name] if word.startswith("x."))
    mine = [
        path.with_name(f"{path.name}.{ending}")
        for ending in ("trial", "part", "tmp", f"{os.getpid()}.part")
    ]
    for other in mine:
        other.write_text("mine")
    before = set(os.listdir(folder))
    code, _, err = run(capsys, WRITERS[name])
    assert code == 0, err
    assert [other.read_text() for other in mine] == ["mine"] * len(mine)
    assert set(os.listdir(folder)) == before | {path.name}


def test_the_demonstration_finds_a_free_name(folder, capsys):
    assert [run(capsys, ["demo"])[0] for _ in range(2)] == [0, 0]
    assert (folder / "demo.margin").exists() and (folder / "demo-2.margin").exists()


def test_a_refused_name_spends_nothing(folder, capsys):
    arguments = [
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "--ledger",
        "agency.db",
        "--dataset",
        "people",
    ]
    assert run(capsys, ["release", "people.csv", *arguments, "-o", "people.margin"])[0] == 2
    assert margin.Ledger("agency.db").spent("people") == 0


def test_a_spent_budget_has_an_exit_code_of_its_own(folder, capsys):
    start = ["release", "people.csv", "--domain", "domain.json", "--ledger", "agency.db"]
    start += ["--dataset", "people"]
    expected = {"3.1": 3, "3": 0, "0.1": 3}
    for place, (epsilon, wanted) in enumerate(expected.items()):
        output = Path(f"{place}.margin")
        code, out, err = run(capsys, [*start, "--epsilon", epsilon, "-o", str(output)])
        assert code == wanted and output.exists() == (code == 0)
        if code:
            assert out == "" and err.count("\n") == 1 and "what remains of its budget" in err
    # Other refusals of the ledger keep the code of a user's error.
    for other in (["--epsilon", "1", "--dataset", "nobody"], ["--rho", "0.1"]):
        assert run(capsys, [*start, *other, "-o", "x.margin"])[0] == 2
    assert margin.Ledger("agency.db").remaining("people") == 0


@pytest.mark.parametrize("command", [[], ["release"]])
def test_help_tells_the_exit_codes_of_a_spent_budget(command, capsys):
    _, out, _ = run(capsys, [*command, "--help"])
    assert re.search(r"\b3 the ledger refuses", out)
    assert re.search(r"\b4 the release failed after its budget", out)


MISTAKES = {
    "demo": ["demo", "--epsilon", "0"],
    "release": [
        "release",
        "none.csv",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "-o",
        "x.margin",
    ],
    "domain suggest": ["domain", "suggest", "none.csv"],
    "marginal": ["marginal", "people.margin", "shoes"],
    "count": ["count", "people.margin", "shoes=1"],
    "info": ["info", "none.margin"],
    "report": ["report", "people.csv"],
    "explore": ["explore", "none.margin"],
    "publish": ["publish", "people.margin", "--tables", "shoes", "-o", "x"],
    "records": ["records", "people.margin", "-n", "0", "-o", "x.csv"],
    "domain check": ["domain", "check", "none.csv", "domain.json"],
    "plan": ["plan", "--domain", "none.json", "--epsilon", "1"],
    "design": ["design", "4", "3", "5"],
    "compare": [
        "compare",
        "none.csv",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "--mechanisms",
        "nobody",
    ],
    "keygen": ["keygen", "none/agency.key"],
    "sign": ["sign", "people.margin", "--key", "people.csv"],
    "verify": ["verify", "people.margin", "--key", "none.pub"],
    "ledger create": ["ledger", "create", "agency.db", "--dataset", "people", "--epsilon", "1"],
    "ledger add": ["ledger", "add", "none.db", "--dataset", "people", "--epsilon", "1"],
    "ledger show": ["ledger", "show", "none.db"],
    "ledger verify": ["ledger", "verify", "people.csv"],
    "ledger check": ["ledger", "check", "agency.db", "--releases", "none"],
    "bench list": ["bench", "list", "--family", "nothing"],
    "bench run": ["bench", "run", "-o", "x.parquet", "--solvers", "nothing"],
    "bench show": ["bench", "show", "people.csv"],
    "bench check": ["bench", "check", "people.csv"],
    "bench export": ["bench", "export", "nothing", "x.mps"],
}


RELEASE = "release people.csv --domain domain.json --epsilon 1 -o x.margin"
# The command lines of newcomers, and parts of the message.
NEWCOMERS = [
    ("relase people.csv", ["did you mean 'release'?"]),
    ("version", ["did you mean '--version'?"]),
    ("help", ["did you mean '--help'?"]),
    (f"{RELEASE} --seed 1", ["no option --seed", "operating system", "margin.simulate"]),
    ("plan --domain d.json --epsilon 1 --views 2way", ["no option --views", "--mechanism PriView"]),
    ("plan --domain d.json --epsilon 1 --unit id", ["no option --unit", "--rows-per-person here"]),
    (f"{RELEASE} --workload 2wya", ["did you mean '2way'?", "A,B", "'age'"]),
    (f"{RELEASE} --workload '2way age,sex'", ["'2way' among 3 words", "without quotes around all"]),
    (f"{RELEASE} --workload 9way", ["k (9)", "from 1 to 5"]),
    (f"{RELEASE} --workload 0way", ["k (0)", "from 1 to 5"]),
    (f"{RELEASE} --workload regoin", ["did you mean 'region'?", "2way"]),
    ("publish people.margin --tables 2wya -o x", ["did you mean '2way'?"]),
    ("publish people.margin --tables age shoes -o x", ["unknown attribute 'shoes'", "A,B"]),
    ("release domain.json --domain people.csv --epsilon 1 -o x.margin", ["is a table", "place"]),
    ("domain check domain.json people.csv", ["is a table", "each other's place"]),
    ("marginal age sex people.margin", ["must stand first", "write people.margin before"]),
    ("count sex=F people.margin", ["must stand first", "write people.margin before"]),
    ("marginal people.csv age", ["table of rows", "margin release"]),
    ("info people.csv", ["table of rows", "margin release"]),
    ("info releases", ["is a folder"]),
    ("info agency.db", ["is a ledger", "margin ledger show"]),
    ("domain check people.csv", ["only 'people.csv' is; write the domain behind it"]),
    ("domain check domain.json", ["needs a table, but none is given"]),
    ("plan --domain domain.json", ["a budget must be given"]),
    ("publish people.margin --tables none.json -o x", ["'none.json' does not exist"]),
    ("count people.margin sex!=F", ["instead of != write = and the other categories"]),
    ("release people.margin --domain domain.json --epsilon 1 -o x.margin", ["result of a release"]),
]


@pytest.mark.parametrize("path", ["people.csv", ".", "nowhere.csv"])
@pytest.mark.parametrize(
    ("start", "option"),
    [
        ("release --domain domain.json --epsilon 1 -o x.margin --views 2way", "--workload 2way"),
        ("release --domain domain.json --epsilon 1 -o x.margin --workload 2way", "--views 2way"),
        ("release --domain domain.json --epsilon 1 -o x.margin", "--asked age=ranges"),
        ("compare --domain domain.json --epsilon 1", "--workload"),
        ("compare --domain domain.json --epsilon 1", "--metrics l2"),
        ("compare --domain domain.json --epsilon 1", "--mechanisms Independent"),
    ],
)
def test_an_option_that_took_the_table_is_named(start, option, path, folder, capsys):
    code, out, err = run(capsys, shlex.split(f"{start} {option} {path}"))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "needs a table, but none is given" in err
    taken = f"{option.split()[0]} takes several values, and the last one is the path of"
    assert (taken in err) == (path != "nowhere.csv")
    assert err.count("takes several") == (path != "nowhere.csv")


@pytest.mark.parametrize(("line", "parts"), NEWCOMERS, ids=[line for line, _ in NEWCOMERS])
def test_a_newcomers_mistake_is_explained(line, parts, folder, capsys):
    code, out, err = run(capsys, shlex.split(line))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert all(part in err for part in parts), err
    assert not (folder / "x.margin").exists() and not (folder / "x").exists()


def test_tables_of_single_attributes_tell_how_to_name_one_table(folder, capsys):
    _, out, _ = run(capsys, ["publish", "people.margin", "--tables", "age", "sex", "-o", "x"])
    assert "2 tables" in out and "--tables age,sex" in out
    _, out, _ = run(capsys, ["publish", "people.margin", "--tables", "age,sex", "-o", "y"])
    assert "1 table" in out and "--tables" not in out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_a_mistake_takes_a_line_and_debug_shows_where(name, folder, capsys):
    code, out, err = run(capsys, MISTAKES[name])
    assert code == 2 and out == "" and err.count("\n") == 1 and err.startswith("margin: "), err
    line = err
    for arguments in (["--debug", *MISTAKES[name]], [*MISTAKES[name], "--debug"]):
        code, out, err = run(capsys, arguments)
        assert code == 2 and err.startswith("Traceback") and err.endswith(line)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_that_do_not_exist_take_a_line(name, capsys):
    code, out, err = run(capsys, [*words(LAST[name]), "--nothing"])
    assert code == 2 and out == "" and err.count("\n") == 1 and "--help" in err


def test_a_misspelt_option_is_told_what_it_may_mean(capsys):
    _, _, err = run(capsys, ["info", "people.margin", "--jsn"])
    assert "did you mean '--json'?" in err
    _, _, err = run(capsys, ["ledger", "show", "agency.db", "--debgu"])
    assert "did you mean '--debug'?" in err


ORDERS = [
    ["people.margin", "age", "sex", "--format", "csv"],
    ["people.margin", "age,sex", "--format", "csv"],
    ["people.margin", "age,", "sex", "--format=csv"],
    ["people.margin", "age", "--format", "csv", "sex"],
    ["--format", "csv", "people.margin", "age", "--spreadsheet", "sex"],
    ["people.margin", "--form", "csv", "age", "sex"],
]


@pytest.mark.parametrize("arguments", ORDERS, ids=" ".join)
def test_options_stand_anywhere_and_names_take_commas_or_blanks(arguments, folder, capsys):
    code, out, err = run(capsys, ["marginal", *arguments])
    assert code == 0, err
    # Only what is for spreadsheets begins with a mark.
    text = out.removeprefix("\ufeff")
    assert (text != out) is ("--spreadsheet" in arguments)
    assert text == run(capsys, ["marginal", *ORDERS[0]])[1] and text.startswith("age,sex,count")


def test_a_name_with_a_comma_stays_whole(tmp_path, capsys):
    domain = margin.Domain({"a,b": 2, "a": 2})
    rows = {"a,b": [0, 1], "a": [1, 1]}
    margin.release(rows, domain=domain, budget=margin.PureDP(1)).save(tmp_path / "x.margin")
    code, out, _ = run(capsys, ["marginal", str(tmp_path / "x.margin"), "a,b", "--json"])
    assert code == 0 and '"a,b"' in out and '"a"' not in out


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("PriView", "PriView"),
        ("priview", "PriView"),
        ("priview-paper", "PriView"),
        ("PriView.paper", "PriView"),
        ("optimised", "MatrixMechanism"),
        ("MatrixMechanism", "MatrixMechanism"),
        ("datacubes", "DataCubes"),
        ("data-cubes", "DataCubes"),
        ("QuadTree", "QuadTree"),
        ("AUTO", "Auto"),
    ],
)
def test_mechanisms_have_the_names_of_their_classes(given, made):
    parsed = argparse.Namespace(mechanism=given, queries=None, size=None)
    mechanism = mechanism_of(parsed, margin.Domain({"a": 2, "b": 2}), None)
    assert type(mechanism).__name__ == made


def test_mechanisms_are_compared_by_either_spelling(folder, capsys):
    command = ["compare", "people.csv", "--domain", "domain.json", "--epsilon", "1", "--runs", "1"]
    for names in (["uniform", "Flat"], ["Uniform,flat"]):
        code, out, _ = run(capsys, [*command, "--mechanisms", *names, "--json"])
        assert code == 0 and '"Uniform"' in out and '"Flat"' in out and '"uniform"' not in out


@pytest.mark.parametrize("given", [*MECHANISMS, "MWEM()", "DualQuery(size=9,rounds=2)", "Wavelet"])
def test_what_can_be_released_can_be_compared(given):
    (listed,) = split_mechanisms([given])
    name, mechanism = mechanism_to_compare(listed)
    assert name == given and callable(mechanism.run)


@pytest.mark.parametrize(
    "arguments",
    [
        ["marginal", "visits.margin", "state"],
        ["count", "visits.margin", "state=CA"],
        ["publish", "visits.margin", "--tables", "state,sex", "-o", "new"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_level_without_its_attribute_is_named_in_full(arguments, folder, capsys):
    code, _, err = run(capsys, arguments)
    assert code == 2 and "did you mean 'place@state'?" in err


def test_an_interrupt_is_a_line_and_130(folder):
    """The test sends a real interrupt to a running release."""
    code = (
        "import sys, time, margin.cli.main\n"
        "def slow(*_, **__):\n    print('at work', flush=True)\n    time.sleep(60)\n"
        "margin.release = slow\n"
        "sys.exit(margin.cli.main.main())"
    )
    arguments = [
        "release",
        "people.csv",
        "--domain",
        "domain.json",
        "--epsilon",
        "1",
        "-o",
        "x.margin",
    ]
    # A background job ignores interrupts; restore the handler that a terminal has.
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == "at work\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    told = "margin: interrupted; no noise was drawn, and nothing has been charged\n"
    assert process.returncode == 130 and err == told
    assert not (folder / "x.margin").exists()


def test_a_reader_that_leaves_is_no_error(folder):
    command = f"{sys.executable} -m margin marginal people.margin age sex region children"
    line = f"{command} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 1


class Terminal:
    def __init__(self, is_one):
        self.is_one, self.text = is_one, ""

    def isatty(self):
        return self.is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("terminal", "environment", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(terminal, environment, coloured, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert painted("margin:", "bad", Terminal(terminal)) == (
        "\x1b[1;31mmargin:\x1b[0m" if coloured else "margin:"
    )


def test_a_strangers_file_cannot_steer_the_terminal(tmp_path, capsys):
    domain = margin.Domain({"a\x1b[2J": ["x\x1b]0;title\x07", "y\nz"]})
    rows = {"a\x1b[2J": ["y\nz"] * 10}
    margin.release(rows, domain=domain, budget=margin.PureDP(1)).save(tmp_path / "x.margin")
    for arguments in (["info"], ["marginal"]):
        attributes = ["a\x1b[2J"] if arguments == ["marginal"] else []
        _, out, _ = run(capsys, [*arguments, str(tmp_path / "x.margin"), *attributes])
        assert out and "\x1b" not in out and "\x07" not in out and "y\nz" not in out
    assert "\x1b" not in run(capsys, ["marginal", str(tmp_path / "x.margin"), "\x1b[2J"])[2]


def as_terminal(monkeypatch):
    """A terminal in the place of stderr, with a progress display that does not wait."""
    stream = Terminal(True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    for name in ("_PATIENCE", "_PAUSE"):
        monkeypatch.setattr(f"margin.interrupts.progress.{name}", 0.01)
    return stream


def until(stream, text):
    end = time.monotonic() + 60
    while text not in stream.text:
        assert time.monotonic() < end, stream.text
        time.sleep(0.01)


def test_progress_says_the_stage_and_the_time_left(monkeypatch):
    terminal = as_terminal(monkeypatch)
    log = logging.getLogger("margin")
    with progress():
        log.info("mechanism %d of %d", 1, 3)
        until(terminal, "margin: mechanism 1 of 3 ...")
        log.info("counting the views")
        until(terminal, "margin: mechanism 1 of 3: counting the views ...")
        log.info("mechanism %d of %d", 2, 3)
        log.info("round %d of %d", 5, 9)
        until(terminal, "margin: mechanism 2 of 3: round 5 of 9 ..., about")
        until(terminal, "s left")
    assert terminal.text.endswith("\r\x1b[K")


def test_progress_counts_the_time_of_steps_that_begin_again(monkeypatch):
    """The sweeps over generated rows, and the page of a report."""
    stages = _Stages(Terminal(True))
    now = [0.0]
    monkeypatch.setattr("margin.interrupts.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr(stages, "_start", lambda: None)
    for sweep in (1, 2):
        for number in range(1, 4):
            words = (sweep, number, 3)
            message = "making rows, sweep %d: attribute %d of %d"
            stages.emit(logging.LogRecord("margin", logging.INFO, "", 0, message, words, None))
            left = stages._left()
            now[0] += 10
    assert left == ", about 10 s left"


@pytest.mark.parametrize("declared", [None, 5_000_000])
def test_progress_says_the_share_of_the_table_but_no_number_of_its_rows(
    declared, tmp_path, monkeypatch
):
    terminal = as_terminal(monkeypatch)
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "0\n" * 300_017)
    with progress():
        count(path, margin.Domain({"a": 2}, rows=declared), [["a"]])
        until(terminal, " %" if declared is None else " % of 5,000,000 declared rows")
    assert "300" not in terminal.text and "017" not in terminal.text


def test_an_option_of_several_values_that_is_given_again_adds_to_them(capsys, tmp_path):
    """Views were left out in silence."""
    table, domain = tmp_path / "t.csv", tmp_path / "d.json"
    table.write_text("a,b,c\n" + "0,1,0\n1,0,1\n" * 50)
    domain.write_text('{"a": 2, "b": 2, "c": 2}')
    out = str(tmp_path / "o.margin")
    words = [str(table), "--domain", str(domain), "--epsilon", "1"]
    assert main(["release", *words, "--views", "a,b", "--views", "b,c", "-o", out]) == 0
    assert main(["info", out, "--json"]) == 0
    assert "2, 8 cells" in capsys.readouterr().out
    twice = ["--mechanisms", "Direct", "--mechanisms", "Uniform", "--runs", "1"]
    assert main(["compare", *words, *twice, "--json"]) == 0
    shown = capsys.readouterr().out
    assert '"Direct"' in shown and '"Uniform"' in shown and "Adaptive" not in shown


@pytest.mark.parametrize("command", ["compare", "release"])
@pytest.mark.parametrize("name", ["AIM", "mst", "MWEM+PGM", "AIM(rounds=3)", "PrivBayes"])
def test_a_mechanism_of_others_is_told_where_it_runs(command, name, capsys, tmp_path):
    table, domain = tmp_path / "t.csv", tmp_path / "d.json"
    table.write_text("a\n0\n")
    domain.write_text('{"a": 2}')
    words = [command, str(table), "--domain", str(domain), "--epsilon", "1"]
    if command == "compare":
        words += ["--mechanisms", name]
    else:
        words += ["--mechanism", name, "-o", str(tmp_path / "o.margin")]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "not part of margin" in said and "docs/howto/own_mechanism.md" in said
    assert ("python -m experiments peers" in said) == (name != "PrivBayes")


def test_progress_is_quiet_unless_on_a_terminal(monkeypatch):
    stream = Terminal(False)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress():
        logging.getLogger("margin").info("counting the views")
        assert not is_heard()
    assert stream.text == ""


def completed(line, tmp_path):
    """The completions that a shell would offer."""
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "offered"),
        "COMP_TYPE": "9",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(
        [sys.executable, "-m", "margin"], env=environment, capture_output=True, check=True
    )
    return {word.strip() for word in (tmp_path / "offered").read_text().splitlines()}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("margin re", {"release", "report", "records"}),
        ("margin release --mechanism Pri", {"PriView", "PriView.paper"}),
        ("margin ledger ", {"create", "show", "verify", "check"}),
        ("margin marginal people.margin ag", {"age"}),
    ],
)
def test_shells_complete(line, offered, folder):
    assert offered <= completed(line, folder)


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_understand_what_makes_them_complete(shell, capsys):
    _, out, _ = run(capsys, ["completion", shell])
    assert "margin" in out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("has_ledger", [True, False])
def test_a_release_without_a_ledger_says_so_in_one_line_once_it_is_made(
    folder, capsys, has_ledger, more
):
    """Not if nothing was charged: a refused release, here one without data, says nothing of it."""
    ledger = ["--ledger", "agency.db", "--dataset", "people"] if has_ledger else []
    words = ["--domain", "domain.json", "--epsilon", "1", "-o", "o.margin", *ledger, *more]
    assert main(["release", "none.csv", *words]) == 2
    assert "no ledger" not in capsys.readouterr().err
    assert main(["release", "people.csv", *words]) == 0
    out, err = capsys.readouterr()
    assert err.count("\n") == (0 if has_ledger else 1)
    assert ("the budget was charged to no ledger" in err) == (not has_ledger)
    assert "no ledger" not in out
