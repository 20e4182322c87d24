"""The command `margin bench export`: the problem of an instance as a file and as a formula."""

import argparse
from pathlib import Path
from typing import Any

from ...errors import MarginError
from ..common import (
    Said,
    add_command,
    printable,
)
from ..outputs import add_force, check_free
from .named import PROGRAMMES, named

__all__ = ["add_export"]


def add_export(group: Any) -> None:
    """Add `margin bench export` to the group of commands."""
    exporting = add_command(
        group,
        "export",
        _export,
        does="write the problem of an instance to a file, and print its programme",
        examples=[
            "margin bench export cover-design-7-3-2 fano.mps",
            "margin bench export cover-design-7-3-2 --statement",
            "margin bench export cover-views-m14-80of3-500-cells-seed7 generated.npz",
        ],
    )
    exporting.add_argument(
        "name",
        metavar="NAME|FILE.npz",
        help="the name of an instance, which may be generated, such as "
        "response-c500x3000-chain-round60-seed7, or an .npz file that Instance.save or this "
        "command wrote",
    )
    exporting.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="the file to write; its ending is .mps, .lp, .cbf, .wcnf, or .npz for a file that "
        "`margin bench run --instances` takes",
    )
    exporting.add_argument(
        "--statement",
        action="store_true",
        help="print the programme in LaTeX, and what its symbols mean",
    )
    add_force(exporting)


def _export(parsed: argparse.Namespace) -> Said:
    instance = named(parsed.name)
    if parsed.file is None and not parsed.statement:
        raise MarginError(
            "either a file or --statement must be given, but there is neither; write for example "
            f"margin bench export {parsed.name} problem.mps"
        )
    lines = []
    if parsed.statement:
        lines += [instance.statement(), ""]
        lines += [f"{symbol}: {words}" for symbol, words in instance.family.symbols().items()]
        lines += ["", f"columns of a file: {instance.family.columns}"]
        lines += ["", f"rows of a file: {instance.family.rows}"]
    if parsed.file is not None:
        endings = (*PROGRAMMES, ".npz")
        if parsed.file.suffix.lower() not in endings:
            raise MarginError(
                f"the name of the file must end in one of {', '.join(endings)}, but it ends in "
                f"{parsed.file.suffix!r}; choose one of these"
            )
        check_free(parsed.file, parsed)
        write = instance.save if parsed.file.suffix.lower() == ".npz" else instance.export
        try:
            write(parsed.file)
        except (ValueError, OSError, RuntimeError) as error:
            raise MarginError(str(error)) from None
        lines.append(
            f"{printable(parsed.file)}: {instance.name}, version {instance.version}, digest "
            f"{instance.digest}"
        )
    values = {
        "instance": instance.name,
        "version": instance.version,
        "digest": instance.digest,
        "family": instance.family.name,
        "statement": instance.statement(),
        "symbols": dict(instance.family.symbols()),
        "columns": instance.family.columns,
        "rows": instance.family.rows,
        "written": None if parsed.file is None else str(parsed.file),
    }
    return Said("\n".join(lines), values, is_kept=parsed.file is not None)
