"""The command line as ``python -m margin``, and the entry point of the installed command.

The commands are imported in `run`, so that Ctrl-C during the import is told like any other.
"""

import sys

__all__ = ["run"]

_BEFORE = "interrupted before the command began; nothing has been charged"


def run() -> int:
    """Run the command line; the result is its exit code, see `margin.cli.main.main`."""
    try:
        from .interrupts import watched

        with watched(ends=True, text=_BEFORE):
            from .cli.main import main
        return main()
    except KeyboardInterrupt as error:
        print(f"margin: {str(error) or _BEFORE}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
