"""The command line of the experiments."""

import argparse
import importlib
import pkgutil

import experiments


def main() -> None:
    """List the experiments, or run some of them."""
    names = [module.name for module in pkgutil.iter_modules(experiments.__path__) if not module.name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m experiments", description=experiments.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every experiment")
    run = commands.add_parser("run", help="run experiments, all when none is named")
    run.add_argument("names", nargs="*", choices=[[], *names])
    run.add_argument("--smoke", action="store_true", help="the smallest size, to see that it works")
    arguments = parser.parse_args()
    for name in (arguments.names if arguments.command == "run" else []) or names:
        experiment = importlib.import_module(f"experiments.{name}")
        if arguments.command == "list":
            print(f"{name:<24}{(experiment.__doc__ or '').splitlines()[0]}")
        else:
            print(f"== {name}: {(experiment.__doc__ or '').splitlines()[0]}")
            print(experiment.run(smoke=arguments.smoke), end="\n\n")


if __name__ == "__main__":
    main()
