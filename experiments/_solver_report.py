"""What the study of the solvers leaves behind: a Markdown table and, where matplotlib is installed, plots."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

Row = dict[str, str]


def read(path: Path) -> list[Row]:
    """The rows written so far."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict[str, Any]) -> None:
    """Add one row, with a heading if it is the first; it is on disk when this returns."""
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if fresh:
            writer.writeheader()
        writer.writerow(row)


def markdown(rows: list[Row]) -> str:
    """All rows as a table."""
    if not rows:
        return "no rows"
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_short(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def plots(rows: list[Row], folder: Path) -> list[Path]:
    """Time against size of query, and error against time, one picture of each for each table, views and noise."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["milliseconds"]:
            groups[row["table"], row["views"], row["epsilon"]].append(row)
    written = []
    for group, members in groups.items():
        name = "-".join(part.replace(" ", "") for part in group)
        for kind, across, up in (("time", "k", "milliseconds"), ("error", "milliseconds", "error")):
            figure, axes = pyplot.subplots(figsize=(8, 6))
            for solver in dict.fromkeys(row["solver"] for row in members):
                own = [row for row in members if row["solver"] == solver and row[up]]
                axes.plot([float(r[across]) for r in own], [float(r[up]) for r in own], marker="o", label=solver)
            axes.set(xlabel=across, ylabel=up, yscale="log", xscale="log" if kind == "error" else "linear")
            axes.set_title(", ".join(group))
            axes.legend(fontsize=7)
            written.append(folder / f"{kind}-{name}.png")
            figure.savefig(written[-1], dpi=150, bbox_inches="tight")
            pyplot.close(figure)
    return written


def _short(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text
