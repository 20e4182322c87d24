"""The command line of the experiments."""

import argparse
import difflib
import importlib
import pkgutil
import tempfile
from pathlib import Path

import experiments
from experiments import _readings, _study, _trace


def _hint(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def main() -> None:
    """List the experiments, or run some or all of them."""
    names = [
        module.name
        for module in pkgutil.iter_modules(experiments.__path__)
        if not module.name.startswith("_") and not module.ispkg
    ]
    parser = argparse.ArgumentParser(prog="python -m experiments", description=experiments.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every experiment")
    run = commands.add_parser("run", help="run the named experiments, or all")
    run.add_argument("names", nargs="*", metavar="NAME")
    run.add_argument(
        "--smoke",
        action="store_true",
        help="run the smallest size as a test; keep no files",
    )
    run.add_argument(
        "--out",
        type=Path,
        help="folder of the results: DIR, or DIR/NAME for several; default results/NAME",
        metavar="DIR",
    )
    run.add_argument(
        "--processes", type=int, default=1, help="number of parallel processes", metavar="N"
    )
    run.add_argument(
        "--report",
        action="store_true",
        help="measure nothing; make the pages and pictures of what was measured so far",
    )
    keep = commands.add_parser("keep", help="copy readings and pictures into the repository")
    keep.add_argument("names", nargs="+", metavar="NAME")
    keep.add_argument(
        "--out", type=Path, default=Path("results"), help="folder of the results", metavar="DIR"
    )
    commands.add_parser("pages", help="make the pages of the documentation from kept readings")
    arguments = parser.parse_args()
    if arguments.command == "keep":
        for name in arguments.names:
            print(*_readings.keep(name, arguments.out / name), sep="\n")
        return
    if arguments.command == "pages":
        print(*_trace.write(), sep="\n")
        return
    asked = (
        [name.replace("-", "_") for name in arguments.names] if arguments.command == "run" else []
    )
    if unknown := [name for name in asked if name not in names]:
        parser.error(
            f"there is no experiment {unknown[0]!r}{_hint(unknown[0], names)}. "
            f"The experiments are {', '.join(names)}"
        )
    for name in asked or names:
        experiment = importlib.import_module(f"experiments.{name}")
        title = (experiment.__doc__ or "").splitlines()[0]
        if arguments.command == "list":
            print(f"{name:<24}{title}")
            continue
        if arguments.processes < 1:
            parser.error(f"--processes ({arguments.processes}) must be at least 1")
        _study.processes = arguments.processes
        _study.measuring = not arguments.report
        print(f"== {name}: {title}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            base = arguments.out or Path(folder if arguments.smoke else "results")
            out = base if arguments.out and len(asked) == 1 else base / name
            out.mkdir(parents=True, exist_ok=True)
            print(experiment.run(smoke=arguments.smoke, out=out), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
