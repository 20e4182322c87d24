"""The command line of the experiments."""

import argparse
import importlib
import pkgutil
import tempfile
from pathlib import Path

import experiments
from experiments import _study


def main() -> None:
    """List the experiments, or run some of them."""
    names = [
        module.name
        for module in pkgutil.iter_modules(experiments.__path__)
        if not module.name.startswith("_")
    ]
    parser = argparse.ArgumentParser(prog="python -m experiments", description=experiments.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every experiment")
    run = commands.add_parser("run", help="run experiments, all when none is named")
    run.add_argument("names", nargs="*", metavar="NAME")
    run.add_argument(
        "--smoke",
        action="store_true",
        help="the smallest size, to see that it works; leaves nothing behind",
    )
    run.add_argument(
        "--out",
        type=Path,
        help="where results go: results/NAME, or DIR/NAME for several",
        metavar="DIR",
    )
    run.add_argument(
        "--processes", type=int, default=1, help="how many processes work at a time", metavar="N"
    )
    arguments = parser.parse_args()
    asked = (
        [name.replace("-", "_") for name in arguments.names] if arguments.command == "run" else []
    )
    if unknown := [name for name in asked if name not in names]:
        parser.error(f"there is no experiment {unknown[0]!r}; there are {', '.join(names)}")
    for name in asked or names:
        experiment = importlib.import_module(f"experiments.{name}")
        title = (experiment.__doc__ or "").splitlines()[0]
        if arguments.command == "list":
            print(f"{name:<24}{title}")
            continue
        if arguments.processes < 1:
            parser.error(f"--processes ({arguments.processes}) must be at least 1")
        _study.processes = arguments.processes
        print(f"== {name}: {title}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            base = arguments.out or Path(folder if arguments.smoke else "results")
            out = base if arguments.out and len(asked) == 1 else base / name
            out.mkdir(parents=True, exist_ok=True)
            print(experiment.run(smoke=arguments.smoke, out=out), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
