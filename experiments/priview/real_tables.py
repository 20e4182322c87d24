"""Release, save, load and 50 random 4-way answers on each available real table."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet

import margin
from experiments.tools.tables import (
    Study,
    adult,
    clicks,
    error,
    kosarak,
    msnbc,
    queries,
    uniform_error,
)
from margin import PriView, PureDP
from margin.designs import covering_design
from margin.solvers import Newton


def run(smoke: bool, out: Path) -> str:
    """Measure each table and budget; one line each."""
    if smoke:
        studies = [clicks(16, 2_000)]
    else:
        real = (kosarak(), msnbc(), adult(), clicks(64, 200_000))
        studies = [study for study in real if study]
    lines = [
        f"{'table':<12}{'eps':>6}{'views':>7}{'L2/N':>10}{'uniform':>10}"
        f"{'release s':>11}{'ms a query':>12}"
    ]
    with tempfile.TemporaryDirectory() as folder:
        for study in studies:
            for epsilon in ("1",) if smoke else ("1", "0.1"):
                lines.append(_line(study, epsilon, Path(folder)))
    return "\n".join(lines)


def _line(study: Study, epsilon: str, folder: Path) -> str:
    views = None
    if study.name == "MSNBC-9":  # three views of six pages, as in the paper
        views = [
            [study.domain.attributes[axis] for axis in block]
            for block in covering_design(9, 6, 2).blocks
        ]
    path = folder / f"{study.name}.parquet"
    if isinstance(study.data, Path):
        path = study.data
    elif not path.exists():
        pyarrow.parquet.write_table(study.data, path)
    started = time.perf_counter()
    mechanism = PriView(views=views, reconstruction=Newton())
    margin.release(path, domain=study.domain, budget=PureDP(epsilon), mechanism=mechanism).save(
        folder / "out.margin"
    )
    released = time.perf_counter() - started
    synopsis = margin.load(folder / "out.margin")
    asked = queries(study.domain, 4, 50)
    started = time.perf_counter()
    answers = synopsis.marginals(asked)
    answered = 1000 * (time.perf_counter() - started) / len(asked)
    truths = margin.simulate(
        path, domain=study.domain, budget=PureDP(1), mechanism=mechanism, seed=0
    ).truths(asked)
    mean = np.mean([error(answer, truth) for answer, truth in zip(answers, truths, strict=True)])
    uniform = np.mean([uniform_error(truth) for truth in truths])
    return (
        f"{study.name:<12}{epsilon:>6}{len(synopsis.names):>7}{mean:>10.5f}{uniform:>10.3f}"
        f"{released:>11.2f}{answered:>12.2f}"
    )
