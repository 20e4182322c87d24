"""Every table of `margin.datasets`: its size and domain, after a check of its checksum.

Missing tables are fetched from their publishers.

The only experiment that uses the network, and only when it is named and not a smoke run: generated
tables then only.
"""

from pathlib import Path

from experiments.tools.pages import markdown
from margin import DataError, FileError, datasets
from margin.datasets import Dataset

PUBLISHED = ("msnbc", "kosarak", "adult", "kdd99", "mushroom", "nursery")


def run(smoke: bool, out: Path) -> str:
    """Read each table; one line each."""
    rows = 1_000 if smoke else 100_000
    made = [
        *(datasets.markov_chain(order, rows=rows) for order in range(1, 8)),
        datasets.latent_classes(rows=rows),
        datasets.click_stream(rows=rows),
        datasets.correlated(rows=rows),
    ]
    lines = [_line(table) for table in made]
    for name in () if smoke else PUBLISHED:
        try:
            lines.append(_line(getattr(datasets, name)()))
        except (FileError, DataError) as error:
            lines.append(
                {"table": name, "rows": "", "attributes": "", "cells": "", "from": str(error)}
            )
    text = markdown(lines)
    (out / "datasets.md").write_text(text + "\n")
    return text


def _line(table: Dataset) -> dict[str, object]:
    cells = 1
    for size in table.domain.sizes:
        cells *= size
    return {
        "table": table.name,
        "rows": f"{table.rows:,}",
        "attributes": len(table.domain),
        "cells": f"{float(cells):.2g}",
        "from": table.note,
    }
