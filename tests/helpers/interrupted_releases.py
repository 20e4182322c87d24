"""Releases in forked processes, each interrupted by one signal at a random moment.

Run as a program: `python -m tests.helpers.interrupted_releases FOLDER TRIALS SEED`. It prints one
line of JSON for each trial. The parent loads the libraries once and never opens a table, so it has
no threads when it forks.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import scipy.sparse

import margin
import margin.counting.compiled
import margin.counting.plan
import margin.interrupts
import margin.report
from margin import Ledger, PureDP
from margin.cli.main import main
from margin.mechanisms import Flat, PriView
from margin.privacy.account import Account

ROWS = 60_000
DOMAIN = margin.Domain({f"q{at}": 2 for at in range(6)})
TOTAL = PureDP(1_000)
BUDGET = PureDP(1)
PATIENCE = 15.0
"""Seconds after which a process that does not end is killed, and reported as hung."""


def tables(folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Arguments of `release` for every kind of source, over the same rows."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (ROWS, len(DOMAIN)), np.uint8)
    columns = {name: codes[:, at] for at, name in enumerate(DOMAIN)}
    columns["id"] = rng.integers(0, ROWS // 2, ROWS)
    whole = pa.table(columns)
    pa.csv.write_csv(whole, folder / "t.csv")
    pa.parquet.write_table(whole, folder / "t.parquet")
    (folder / "many").mkdir()
    for part in range(20):
        rows = whole.slice(part * ROWS // 20, ROWS // 20)
        pa.csv.write_csv(rows, folder / "many" / f"{part:02}.csv")
    with pa.CompressedOutputStream(folder / "t.csv.gz", "gzip") as file:
        pa.csv.write_csv(whole, file)
    with (folder / "t.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in whole.slice(0, ROWS // 4).to_pylist())
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.from_arrow(whole).create("t")
    text = "SELECT * FROM t"
    frame = whole.to_pandas()

    def sql() -> margin.Sql:
        return margin.Sql(text, files={"t": str(folder / "t.parquet")})

    def attached() -> margin.Sql:
        return margin.Sql(text, attach=str(folder / "t.duckdb"))

    def relation() -> Any:
        return duckdb.connect().from_arrow(whole)

    return {
        "csv": lambda: {"data": folder / "t.csv"},
        "csv.gz": lambda: {"data": folder / "t.csv.gz"},
        "parquet": lambda: {"data": folder / "t.parquet"},
        "json": lambda: {"data": folder / "t.jsonl"},
        "folder": lambda: {"data": folder / "many"},
        "sql": lambda: {"data": sql()},
        "database": lambda: {"data": attached()},
        "relation": lambda: {"data": relation()},
        "arrow": lambda: {"data": whole},
        "pandas": lambda: {"data": frame},
        "columns": lambda: {"data": {name: frame[name].tolist() for name in DOMAIN}},
        "codes": lambda: {"data": codes},
        "sparse": lambda: {"data": scipy.sparse.csr_matrix(codes)},
        "unit, csv": lambda: {"data": folder / "t.csv", "unit": "id", "rows_per_person": 1},
        "unit, arrow": lambda: {"data": whole, "unit": "id", "rows_per_person": 1},
        "unit, sql": lambda: {"data": sql(), "unit": "id", "rows_per_person": 1},
        "command": dict,
    }


def tell_times(out: Path) -> None:
    """Write when the watch has begun, when the budget is charged and when the watch ends: files
    .ready, .charge and .end.

    A signal before and after belongs to the program that calls `release`, not to the release.
    """
    release = sys.modules["margin.release"]
    begin, end = release.remove_stale, margin.interrupts.Watch.end
    charge = Account.charge

    def begun() -> None:
        out.with_suffix(".ready").touch()
        begin()

    def ended(self: Any) -> None:
        end(self)
        moment = time.monotonic()
        # A signal from here on is too late, and must not keep the time from being written.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        out.with_suffix(".end").write_text(str(moment))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})

    def charged(self: Any, units: Any) -> None:
        out.with_suffix(".charge").write_text(str(time.monotonic()))
        charge(self, units)

    release.remove_stale = begun
    Account.charge = charged
    margin.interrupts.Watch.end = ended


def child(folder: Path, make: Callable[[], dict[str, Any]], ledger: Path, out: Path) -> None:
    """Release in this process, and write what was told."""
    arguments = make()
    errors = os.open(out, os.O_WRONLY | os.O_CREAT)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    tell_times(out)
    if not arguments:
        table, declared, result = (str(folder / n) for n in ("t.csv", "d.json", "out.margin"))
        words = ["release", table, "--domain", declared, "--epsilon", "1", "-o", result, "--force"]
        code = main([*words, "--ledger", str(ledger), "--dataset", "p", "--mechanism", "priview"])
        os._exit(code)
    name = "u" if "unit" in arguments else "p"
    mechanism = PriView() if name == "p" else Flat()
    try:
        margin.release(
            arguments.pop("data"),
            domain=DOMAIN,
            budget=BUDGET,
            mechanism=mechanism,
            ledger=Ledger(ledger).dataset(name),
            **arguments,
        )
    except BaseException as error:
        os.write(errors, f"{type(error).__name__}: {error}".encode())
        os._exit(130 if isinstance(error, KeyboardInterrupt) else 2)
    os._exit(0)


def trial(
    folder: Path,
    make: Callable[[], dict[str, Any]],
    delay: float | None,
    number: int,
    *,
    after_charge: bool = False,
) -> dict[str, Any]:
    """One release; with a delay, the signal `number` is sent that many seconds after its start, or
    after its charge has begun.
    """
    ledger, out = folder / "l.db", folder / "out.txt"
    ready, charge, end = (out.with_suffix(suffix) for suffix in (".ready", ".charge", ".end"))
    for path in (ledger, out, ready, charge, end):
        path.unlink(missing_ok=True)
    ledger.write_bytes((folder / "new.db").read_bytes())
    process = os.fork()
    if not process:
        try:
            child(folder, make, ledger, out)
        finally:
            os._exit(99)
    while not ready.exists():
        time.sleep(0.001)
    start = time.monotonic()
    if delay is not None:
        while after_charge and not charge.exists() and time.monotonic() - start < PATIENCE:
            time.sleep(0.0005)
        time.sleep(delay)
    before = time.monotonic()
    if delay is not None:
        os.kill(process, number)
    sent = time.monotonic()
    while (ended := os.waitpid(process, os.WNOHANG))[0] == 0:
        if time.monotonic() - sent > PATIENCE:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            ended = (process, -1)
            break
        time.sleep(0.002)
    took = time.monotonic() - sent
    charged = any(Ledger(ledger).spent(name) for name in ("p", "u"))
    code = os.waitstatus_to_exitcode(ended[1]) if ended[1] >= 0 else "hung"
    # A signal may stop the process while it writes a time: then the moment had come.
    charged_at, ended_at = (
        float(path.read_text() or "-inf") if path.exists() else float("inf")
        for path in (charge, end)
    )
    return {
        "code": code,
        "too late": ended_at < before,
        # The signal came while the watch ended, before or after.
        "unclear": before <= ended_at < sent,
        "text": out.read_text(),
        "charged": charged,
        "seconds": took,
        "until charge": charged_at - start,
        "until end": ended_at - start,
    }


def run(folder: Path, trials: int, seed: int) -> None:
    """All trials, over all sources in turn; every third signal is a SIGTERM."""
    (folder / "d.json").write_text(json.dumps(dict.fromkeys(DOMAIN, 2)))
    new = Ledger(folder / "new.db")
    new.register("p", TOTAL)
    new.register("u", TOTAL, unit="id")
    makers = tables(folder)
    # Load the machine code of the loops, and use it for these small tables too.
    margin.counting.plan._WORTH_USING = 0
    random_codes = np.random.default_rng(0).integers(0, 2, (400_000, 6), np.uint8)
    margin.simulate(random_codes[:100], domain=DOMAIN, budget=BUDGET, mechanism=PriView(), seed=0)
    pd.util.hash_array(np.array(["a"], object), hash_key="0" * 16)
    draws = random.Random(seed)
    spans: dict[str, list[float]] = {}
    for name, make in makers.items():
        # The first release is slower than the others.
        timed = [trial(folder, make, None, 0) for _ in range(3)]
        fastest = min(timed, key=lambda told: told["until end"])
        until_charge = fastest["until charge"]
        spans[name] = [until_charge, fastest["until end"] - until_charge]
    for at in range(trials):
        name = list(makers)[at % len(makers)]
        number = signal.SIGTERM if at % 3 == 2 else signal.SIGINT
        # Every other signal of a source comes when noise is drawn, after the charge.
        after_charge = bool(at // len(makers) % 2)
        span = spans[name][after_charge]
        delay = draws.uniform(0, span)
        told = trial(folder, makers[name], delay, number, after_charge=after_charge)
        if told["too late"]:
            # The machine was slower when the spans were measured: let them follow it.
            spans[name][after_charge] = 0.7 * span
        told |= {"source": name, "signal": int(number), "delay": delay, "of": span}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    # A background job ignores interrupts; restore the handler that a terminal has.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
