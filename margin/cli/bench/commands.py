"""The command `margin bench`: lists instances and solvers, runs comparisons, and shows them."""

import argparse
import logging
from pathlib import Path
from typing import Any

from ...errors import MarginError
from ..common import (
    Said,
    add_command,
    add_group,
    did_you_mean,
    printable,
    split_names,
)
from ..outputs import add_force, check_free, check_picture, draw
from .check import add_check
from .export import add_export
from .minutes import each_minute
from .named import chosen, of_solvers, solver_name, solver_of

__all__ = ["add_commands"]

log = logging.getLogger("margin")

_FORMATS = ("markdown", "latex", "csv")
_PICTURES = {
    "performance": "draw_performance_profile",
    "data": "draw_data_profile",
    "gaps": "draw_gaps",
    "outcomes": "draw_failures",
}
"""The names that --kind takes, and the functions of `margin.solvers.bench`."""


def add_commands(commands: Any) -> None:
    """Add the commands of `margin bench` to the parser of the command line."""
    group = add_group(commands, "bench", "compare solvers of optimisation problems over tables")
    _add_list(group)
    _add_run(group)
    _add_show(group)
    add_check(group)
    add_export(group)


def _add_list(group: Any) -> None:
    listing = add_command(
        group,
        "list",
        _list,
        does="list the instances, the families and the solvers",
        examples=["margin bench list", "margin bench list --family response --size small"],
    )
    _add_choice(listing)
    listing.add_argument(
        "--dimensions",
        action="store_true",
        help="also make each problem, and list the rows, columns, nonzeros, integers and "
        "exponential cones of its programme; large ones take some seconds each",
    )


def _add_run(group: Any) -> None:
    running = add_command(
        group,
        "run",
        _run,
        does="run solvers on instances, each in a process of its own, and check every answer",
        examples=[
            "margin bench run -o rows.parquet --family exact-entropy --size small",
            "margin bench run -o rows.parquet --family response --size small "
            "--solvers ByComponents,highs,mine.py:MySolver --time-limit 10 --jobs 2",
        ],
    )
    running.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="ROWS.parquet",
        help="the file for the rows; rows that it already holds are kept and not run again",
    )
    running.add_argument(
        "--again",
        action="store_true",
        help="also run what the file already holds; the new rows replace the old ones",
    )
    running.add_argument(
        "--answers",
        type=Path,
        metavar="FOLDER",
        help="also write each answer to a file of this folder, INSTANCE/SOLVER-REPEAT.npz, with "
        "names quoted as in addresses: mine%%3Adual-1.npz for mine:dual",
    )
    _add_choice(running)
    running.add_argument(
        "--instances",
        nargs="+",
        default=[],
        metavar="NAME",
        help="names of instances, also of generated ones, such as "
        "response-c500x3000-chain-round60-seed7, or .npz files that Instance.save or `margin bench "
        "export` wrote; default: all of the family and size",
    )
    running.add_argument(
        "--solvers",
        nargs="+",
        default=[],
        metavar="NAME",
        help="names that `margin bench list` shows, or MODULE:OBJECT or FILE.py:OBJECT for a "
        "solver of your own, with commas or blanks between them; default: every installed solver "
        "of the families",
    )
    for option, kind, default, text in (
        (
            "--time-limit",
            float,
            60.0,
            "seconds of one solve, without those for which it waited for a processor; a later "
            "answer does not count. A solve that ends at the limit after long waiting is lost, and "
            "starts again up to twice: on a busy machine take --jobs 1, or a longer limit",
        ),
        (
            "--tolerance",
            float,
            1e-4,
            "the largest gap at which an answer counts as solved; an answer may break constraints "
            "by as much as `margin bench list` says, whatever this is",
        ),
        ("--repeats", int, 3, "number of solves after the first, cold one"),
        ("--jobs", int, 1, "number of processes at a time"),
        ("--threads", int, 1, "number of threads of each process"),
    ):
        running.add_argument(
            option,
            type=kind,
            default=default,
            metavar="N" if kind is int else "S" if option == "--time-limit" else "GAP",
            help=f"{text}; default: {default:g}",
        )
    running.add_argument(
        "--memory-limit",
        type=float,
        metavar="MB",
        help="megabytes of each process; default: no limit",
    )


def _add_show(group: Any) -> None:
    showing = add_command(
        group,
        "show",
        _show,
        does="show the rows of comparisons as a table, a page or a picture",
        examples=[
            "margin bench show rows.parquet",
            "margin bench show rows.parquet --format latex",
            "margin bench show rows.parquet --claimed",
            "margin bench show rows.parquet --page comparison.html",
            "margin bench show rows.parquet --picture profile.pdf --family response",
            "margin bench show rows.parquet --family cover --solvers highs,scip,mine.py:MySolver",
        ],
    )
    showing.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="ROWS.parquet",
        help="files that `margin bench run` wrote",
    )
    showing.add_argument("--family", help="the rows of this family alone")
    showing.add_argument(
        "--solvers",
        nargs="+",
        default=[],
        metavar="NAME",
        help="the rows of these solvers alone, named as for `margin bench run`",
    )
    showing.add_argument(
        "--limits",
        type=int,
        metavar="N",
        help="the rows under the N-th combination of limits alone, as the tables of all rows "
        "number them; solves under different limits, or of different machines, are not ranked "
        "together",
    )
    showing.add_argument(
        "--claimed",
        action="store_true",
        help="rank by claims: an answer that its solver does not call optimal counts as feasible, "
        "in tables, pages and pictures",
    )
    showing.add_argument(
        "--each",
        action="store_true",
        help="a line for each instance and solver, with objective, gap, bound and seconds, instead "
        "of one for each solver",
    )
    showing.add_argument(
        "--format",
        choices=_FORMATS,
        default="markdown",
        help="the form of the table; default: markdown",
    )
    showing.add_argument(
        "--clock",
        choices=("cpu", "wall"),
        default="cpu",
        help="processor or wall seconds; default: cpu",
    )
    showing.add_argument(
        "--page",
        type=Path,
        metavar="OUT.html",
        help="also write one HTML page with tables and pictures",
    )
    showing.add_argument(
        "--picture",
        type=Path,
        metavar="OUT.png",
        help="also draw a picture of one family, as PNG, SVG or PDF",
    )
    showing.add_argument(
        "--kind",
        choices=_PICTURES,
        default="performance",
        help="the picture to draw; default: performance",
    )
    add_force(showing)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    """Add --family and --size, which choose instances."""
    parser.add_argument("--family", help="the name of a family or of a group of families")
    parser.add_argument("--size", choices=("small", "medium", "large"), help="the size")


def _list(parsed: argparse.Namespace) -> Said:
    from ...solvers import bench
    from ...solvers.bench.made.catalogue import known_values
    from ...solvers.bench.shown.times import in_words

    instances = chosen(parsed)
    families = [family for family in bench.FAMILIES if any(i.family is family for i in instances)]
    lines, values = [], []
    for family in families:
        named = [instance for instance in instances if instance.family is family]
        takes = {
            name: listed.is_installed
            for name, listed in bench.ROSTER.items()
            if family.name in listed.families
        }
        there = [name for name, installed in takes.items() if installed]
        missing = [name for name, installed in takes.items() if not installed]
        lines += [f"{family.name} ({family.sense}, {in_words(len(named))})"]
        stops = {name: bench.tolerance_of(bench.ROSTER[name].make()) for name in takes}
        stated = [f"{name} {number:g}" for name, number in stops.items() if number]
        lines += [f"  solvers: {', '.join(there)}"]
        lines += [f"  tolerances: {', '.join(stated)}"] if stated else []
        lines += [f"  an answer may break a constraint by {family.tolerance:g} ({family.unit})"]
        lines += [f"  not installed: {', '.join(missing)}"] if missing else []
        dimensions = [_dimensions(one) if parsed.dimensions else {} for one in named]
        lines += [
            f"    {_described(instance, counts)}"
            for instance, counts in zip(named, dimensions, strict=True)
        ]
        values.append(
            {
                "family": family.name,
                "sense": family.sense,
                "solvers": there,
                "not installed": missing,
                "tolerances": stops,
                "violation": family.tolerance,
                "unit": family.unit,
                "instances": [
                    {
                        "name": instance.name,
                        "version": instance.version,
                        "digest": known_values()[instance.name, instance.version].digest,
                        "size": instance.size,
                        "best_known": instance.best_known,
                        "bound": instance.bound,
                        "proved_by": instance.proved_by,
                        **counts,
                    }
                    for instance, counts in zip(named, dimensions, strict=True)
                ],
            }
        )
    return Said("\n".join(lines), values)


def _dimensions(instance: Any) -> dict[str, int]:
    """The counts of the programme of an instance, which is not kept: large ones fill the memory."""
    model = instance.family.model(instance.make())
    return {
        "rows": model.rows,
        "columns": model.columns,
        "nonzeros": int(model.matrix.nnz),
        "integers": int(model.whole.sum()),
        "cones": model.cones,
    }


def _described(instance: Any, counts: dict[str, int]) -> str:
    """An instance with its size, its best objective, the proved bound and counts, in one line."""
    known = {"best known": instance.best_known, "bound": instance.bound}
    # Adding 0 takes the sign of a zero away.
    told = [f"{name} {value + 0.0:.10g}" for name, value in known.items() if value is not None]
    told += [f"{name} {count}" for name, count in counts.items()]
    return ", ".join([f"{instance.name} ({instance.size})", *told])


def _run(parsed: argparse.Namespace) -> Said:
    from ...solvers import bench
    from ...solvers.bench.shown.tables import caption
    from ...solvers.bench.shown.times import in_words

    if not parsed.output.parent.is_dir():
        raise MarginError(
            f"the folder of {str(parsed.output)!r} must exist, but it does not; create it first"
        )
    instances = chosen(parsed)
    families = {instance.family.name for instance in instances}
    solvers = {}
    for given in split_names(parsed.solvers):
        solvers[solver_name(given)] = solver_of(given)
    if not solvers:
        for family in sorted(families):
            solvers |= bench.solvers(family)
    log.info("reading %s", in_words(len(instances)))
    try:
        before = _marks(parsed.output)
        with each_minute():
            rows = bench.compare(
                instances,
                solvers,
                time_limit=parsed.time_limit,
                repeats=parsed.repeats,
                tolerance=parsed.tolerance,
                jobs=parsed.jobs,
                threads=parsed.threads,
                memory_limit=None if parsed.memory_limit is None else 1e6 * parsed.memory_limit,
                to=parsed.output,
                again=parsed.again,
                answers=parsed.answers,
            )
    except (TypeError, ValueError, OSError) as error:
        raise MarginError(str(error)) from None
    kept = sum(_mark(row) in before for row in rows)
    ran = {row["solver"] for row in rows}
    idle = [
        f"{name} was not run: it does not solve {' or '.join(sorted(families))}"
        for name in solvers
        if name not in ran
    ]
    written = f"{printable(parsed.output)}: {len(rows)} solves"
    if kept:
        written += (
            f", of which {kept} were kept from before and {len(rows) - kept} were run now; add "
            "--again to run all of them again"
        )
    notes = bench.notes(rows)
    text = "\n".join([bench.table_of(rows), *caption(), *notes, *idle, written])
    return Said(text, {"summary": bench.summary(rows), "notes": notes}, is_kept=True)


def _marks(path: Path) -> set[str]:
    """The marks of the rows of a file, none if there is no such file."""
    from ...solvers import bench

    return {_mark(row) for row in bench.read_rows(path)} if path.exists() else set()


def _mark(row: Any) -> str:
    """A text that tells one solve from all others."""
    names = ("instance", "solver", "options", "repeat", "date", "wall", "time_limit")
    return repr([row[name] for name in names])


def _show(parsed: argparse.Namespace) -> Said:
    from ...solvers import bench
    from ...solvers.bench.shown.tables import caption

    rows = []
    for path in parsed.files:
        try:
            rows += bench.read_rows(path)
        except (ValueError, OSError) as error:
            raise MarginError(str(error)) from None
    rows = bench.reconciled(rows)
    # The numbers are those of all rows, whatever is chosen of them then.
    limits: dict[str, list[Any]] = bench.by_limits(rows)
    numbers = {name: number for number, name in enumerate(limits, 1)}
    if parsed.limits is not None:
        rows = _limited(limits, parsed.limits)
    rows = of_solvers(_of_family(rows, parsed), parsed.solvers)
    if parsed.claimed:
        rows = bench.claimed_only(rows)
    groups: dict[str, list[Any]] = bench.by_limits(rows)
    for group in groups.values():
        _check_problems(group)
    (rows, *others) = groups.values()
    if others:
        return _separately(groups, numbers, parsed)
    written = []
    if parsed.page is not None:
        check_free(parsed.page, parsed)
        try:
            bench.write_page(rows, parsed.page, clock=parsed.clock)
        except RuntimeError as error:  # matplotlib is not installed
            raise MarginError(str(error)) from None
        written.append(str(parsed.page))
    if parsed.picture is not None:
        written.append(_picture(rows, parsed))
    text = bench.table_of(rows, parsed.format, clock=parsed.clock, each=parsed.each)
    if parsed.format == "markdown":
        told = caption(parsed.clock, each=parsed.each)
        text = "\n".join([text, *told, *bench.notes(rows)])
    values = _shown_values(rows, parsed) | {"written": written}
    return Said("\n".join([text.rstrip("\n"), *written]), values)


def _shown_values(rows: list[Any], parsed: argparse.Namespace) -> dict[str, Any]:
    """The values of rows under the same limits for --json."""
    from ...solvers import bench

    values = {"summary": bench.summary(rows, clock=parsed.clock), "notes": bench.notes(rows)}
    if parsed.each:
        values["solves"] = bench.solves(rows, clock=parsed.clock)
    return values


def _check_problems(rows: list[Any]) -> None:
    """Refuse rows of different problems of one name."""
    from ...solvers.bench.shown.times import by_family, check_comparable

    try:
        for part in by_family(rows).values():
            check_comparable(part)
    except ValueError as error:
        raise MarginError(str(error)) from None


def _limited(groups: dict[str, list[Any]], number: int) -> list[Any]:
    """The rows under the combination of limits that --limits names."""
    if not 1 <= number <= len(groups):
        raise MarginError(
            f"--limits ({number}) must be the number of a combination of limits, from 1 to "
            f"{len(groups)}; run margin bench show without --limits to see them"
        )
    return list(groups.values())[number - 1]


def _of_family(rows: list[Any], parsed: argparse.Namespace) -> list[Any]:
    """The rows of the family that --family names, or all of them."""
    names = list(dict.fromkeys(row["family"] for row in rows))
    chosen = [row for row in rows if parsed.family in (None, row["family"])]
    if chosen:
        return chosen
    under = "" if parsed.limits is None else f" under --limits {parsed.limits}"
    raise MarginError(
        f"the rows{under} must hold the family {parsed.family!r}"
        f"{did_you_mean(parsed.family, names)}, but they hold {', '.join(names) or 'nothing'}; "
        "name one of these"
    )


def _separately(
    groups: dict[str, list[Any]],
    numbers: dict[str, int],
    parsed: argparse.Namespace,
) -> Said:
    """A table for each combination of limits, with its number among those of all rows."""
    from ...solvers import bench
    from ...solvers.bench.shown.tables import caption

    listed = [f"{numbers[limits]}: {limits}" for limits in groups]
    if parsed.page is not None or parsed.picture is not None or parsed.format != "markdown":
        raise MarginError(
            "a page, a picture and a table in LaTeX or CSV compare solves under the same limits, "
            f"but these rows were made under several ({' | '.join(listed)}); choose one, as in "
            f"--limits {numbers[next(iter(groups))]}"
        )
    parts, values = [], []
    for heading, (limits, rows) in zip(listed, groups.items(), strict=True):
        table = bench.table_of(rows, clock=parsed.clock, each=parsed.each).rstrip("\n")
        told = caption(parsed.clock, each=parsed.each)
        lines = [f"limits {heading}", "", table, "", *told, *bench.notes(rows)]
        parts.append("\n".join(lines))
        values.append({"limits": limits, "number": numbers[limits]} | _shown_values(rows, parsed))
    why = "These rows were made under different limits, so each has a table of its own."
    return Said("\n\n".join([why, *parts]), {"separate": values, "written": []})


def _picture(rows: list[Any], parsed: argparse.Namespace) -> str:
    """Draw the picture that was asked for; returns its path."""
    from ...solvers import bench

    families = list(dict.fromkeys(row["family"] for row in rows))
    if len(families) > 1:
        raise MarginError(
            f"a picture shows one family, but the rows hold {', '.join(families)}; add --family"
        )
    check_picture(parsed.picture, parsed)
    options = {} if parsed.kind == "outcomes" else {"clock": parsed.clock}
    draw(getattr(bench, _PICTURES[parsed.kind])(rows, **options), parsed.picture)
    return str(parsed.picture)
