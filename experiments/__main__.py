"""The command line of the experiments."""

import argparse
import difflib
import importlib
import importlib.util
import pkgutil
import sys
import tempfile
from pathlib import Path

import experiments
from experiments.peers import _own_table
from experiments.tools import readings, study, trace
from margin.errors import MarginError

ROOMS = ("priview", "dualquery", "summaries", "answers", "peers", "solvers", "speed")
"""The folders that hold studies."""


def main() -> None:
    """List the experiments, or run some or all of them."""
    modules = _studies()
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.command == "keep":
        for name in arguments.names:
            try:
                copies = readings.keep(name, arguments.out / name)
            except ValueError as error:
                parser.error(str(error))
            print(*copies, sep="\n")
    elif arguments.command == "pages":
        print(*trace.write(), sep="\n")
    elif arguments.command == "peers":
        try:
            _own_table.run(arguments)
        except (ValueError, MarginError) as error:
            parser.error(str(error))
    elif arguments.command == "list":
        _list(modules)
    else:
        names = [name.replace("-", "_") for name in arguments.names]
        if unknown := [name for name in names if name not in modules]:
            parser.error(
                f"there is no experiment {unknown[0]!r}{_hint(unknown[0], list(modules))}. "
                f"The experiments are {', '.join(modules)}"
            )
        if arguments.processes < 1:
            parser.error(f"--processes ({arguments.processes}) must be at least 1")
        _run(modules, names, arguments)


def _studies() -> dict[str, str]:
    """The module of each study, by the name of the study."""
    modules = {}
    for room in ROOMS:
        package = importlib.import_module(f"experiments.{room}")
        for found in pkgutil.iter_modules(package.__path__):
            if not found.name.startswith("_") and not found.ispkg:
                modules[found.name] = f"experiments.{room}.{found.name}"
    return modules


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=experiments.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every experiment")
    run = commands.add_parser("run", help="run the named experiments, or all")
    run.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a study, as `list` names it; without a name, all studies are run one after another",
    )
    run.add_argument(
        "--smoke",
        action="store_true",
        help="run the smallest size as a test; files are kept with --out only",
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
    peers = commands.add_parser(
        "peers", help="run AIM, MST and other systems beside margin on a public table of yours"
    )
    _own_table.add_arguments(peers)
    commands.add_parser("pages", help="make the pages of the documentation from kept readings")
    return parser


def _list(modules: dict[str, str]) -> None:
    """Print every study, below the title of its folder."""
    for room in ROOMS:
        package = f"experiments.{room}"
        print(f"{room}: {_title(importlib.import_module(package))}")
        for name, module in modules.items():
            if module.startswith(f"{package}."):
                print(f"  {name:<22}{_title(importlib.import_module(module))}")


def _run(modules: dict[str, str], names: list[str], arguments: argparse.Namespace) -> None:
    """Run the named studies, or all if none is named."""
    study.processes = arguments.processes
    study.measuring = not arguments.report
    study.smoke = arguments.smoke
    if importlib.util.find_spec("matplotlib") is None:
        print(
            "matplotlib is missing, so no pictures are drawn; run pip install matplotlib",
            file=sys.stderr,
        )
    for name in names or modules:
        experiment = importlib.import_module(modules[name])
        print(f"== {name}: {_title(experiment)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            base = arguments.out or Path(folder if arguments.smoke else "results")
            out = base if arguments.out and len(names) == 1 else base / name
            out.mkdir(parents=True, exist_ok=True)
            if not arguments.smoke and readings.continued(name, out):
                print("continues from the rows that were kept; the manifest names their commits")
            text = experiment.run(smoke=arguments.smoke, out=out)
            if arguments.smoke and not arguments.out:
                text = _without_pictures(text)
            print(text, end="\n\n", flush=True)


def _without_pictures(text: str) -> str:
    """The text of a study whose files are not kept, with one sentence in the place of pictures."""
    lines = text.splitlines()
    kept = [line for line in lines if not line.startswith("![")]
    if len(kept) < len(lines):
        kept.append("\nPictures are kept with --out DIR only. Notes are about the whole study.")
    return "\n".join(kept)


def _title(experiment: object) -> str:
    return (experiment.__doc__ or "").splitlines()[0]


def _hint(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


if __name__ == "__main__":
    main()
