"""The readings of a study: what its page says, its numbers and its manifest, in one small file.

`pages.page` writes `readings.json` beside the page. `python -m experiments keep NAME...` copies
the files of results/NAME to `experiments/readings/NAME.json`, and the pictures to `docs/figures`.
The pages of the documentation take their figures from there; see `trace`. The rows of a study that
was broken off are kept too, so that it continues from them on another day.
"""

import json
import math
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.tools.manifest import SEPARATOR
from experiments.tools.study import read
from experiments.tools.tables import GENERATED, published

READINGS = Path(__file__).parent.parent / "readings"
"""The folder of the readings that the repository keeps."""
FIGURES = Path(__file__).parent.parent.parent / "docs" / "figures"
"""The folder of the pictures that the repository keeps."""
ROWS = READINGS / "rows"
"""The folder of the rows of studies that were broken off."""
FILE = "readings.json"

UNFINISHED = "measurements of the study were not run"
"""What a note says where a study was broken off; see `study.bad`."""
_MOST_BYTES = 200_000
"""Largest size of the rows of a study that are kept."""

NOT_RECORDED = "not recorded"
_DIGITS = 6
"""Significant digits of a number in a file."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim and its measurement.

    Attributes
    ----------
    claim
        What the paper says, or what we expect.
    measured
        What we measured, with the figures; short.
    holds
        Whether the one bears out the other; None when the run cannot tell.
    why
        Where it does not hold or cannot be told: why.
    detail
        All figures, where `measured` has their range only.
    """

    claim: str
    measured: str
    holds: bool | None
    why: str = ""
    detail: str = ""

    @property
    def verdict(self) -> str:
        """ "Yes", "no" or "not tested", with the reason."""
        word = {True: "yes", False: "**no**", None: "not tested"}[self.holds]
        return f"{word}: {self.why}" if self.why else word


@dataclass(frozen=True, kw_only=True)
class Readings:
    """The readings of one study; see the module."""

    title: str
    about: str
    claims: tuple[Claim, ...] = ()
    pictures: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    manifest: dict[str, Any] = field(default_factory=dict)

    def __call__(self, column: str, **where: Any) -> float:
        """The mean of a column over the rows with these values.

        Raises
        ------
        LookupError
            If no row has these values and a number in this column.
        """
        chosen = [row[column] for row in self.rows if _matches(row, where)]
        values = [float(value) for value in chosen if value not in (None, "")]
        if not values:
            raise LookupError(f"no row of {self.title!r} has {where} and a number in {column!r}")
        return math.fsum(values) / len(values)

    def claim(self, words: str) -> Claim:
        """The claim whose text contains these words.

        Raises
        ------
        LookupError
            If not exactly one claim contains them.
        """
        found = [claim for claim in self.claims if words in claim.claim]
        if len(found) != 1:
            raise LookupError(f"{len(found)} claims of {self.title!r} contain {words!r}, not one")
        return found[0]

    @property
    def seconds(self) -> str:
        """The processor seconds of all keys, as a text."""
        found = self.manifest["cpu_seconds"]
        return NOT_RECORDED if found is None else f"{found:,.0f}"

    @property
    def made(self) -> str:
        """A sentence on when, where and with which code the study was made."""
        one = self.manifest
        days = " to ".join(dict.fromkeys(one["dates"]))
        if one["commit"] == [NOT_RECORDED]:
            return f"Made on {days}, before manifests were written. Measurements: {one['keys']:,}."
        commits = ", ".join(one["commit"])
        machine = " or ".join(one["machine"]).replace(SEPARATOR, ", ")
        versions = " or ".join(one["libraries"]).replace(SEPARATOR, ", ")
        python = " or ".join(one["python"])
        return (
            f"Made on {days} at commit {commits} with Python {python}, {versions}; {machine}. "
            f"Measurements: {one['keys']:,}; processor seconds: {self.seconds}."
        )


def save(readings: Readings, path: Path) -> None:
    """Write readings as JSON, one row a line, so that changes can be read."""
    whole = asdict(readings)
    columns = list(dict.fromkeys(name for row in readings.rows for name in row))
    values = [[_rounded(row.get(name, "")) for name in columns] for row in readings.rows]
    whole["rows"] = None
    # Comparisons of arrays give numpy's bool, which is not one of JSON.
    head = json.dumps(whole, indent=1, ensure_ascii=False, default=bool)
    lines = ",\n".join("   " + json.dumps(line, ensure_ascii=False) for line in values)
    rows = f'{{\n  "columns": {json.dumps(columns)},\n  "values": [\n{lines}\n  ]\n }}'
    path.write_text(head.replace('"rows": null', f'"rows": {rows}') + "\n")


def load(path: Path) -> Readings:
    """Read what `save` wrote."""
    whole = json.loads(path.read_text())
    columns = whole["rows"]["columns"]
    rows = [dict(zip(columns, line, strict=True)) for line in whole["rows"]["values"]]
    return Readings(
        title=whole["title"],
        about=whole["about"],
        claims=tuple(Claim(**claim) for claim in whole["claims"]),
        pictures=tuple(whole["pictures"]),
        rows=tuple(rows),
        notes=tuple(whole["notes"]),
        manifest=whole["manifest"],
    )


def keep(name: str, results: Path) -> list[Path]:
    """Copy the readings and the pictures of a study into the repository; return the copies.

    Raises
    ------
    ValueError
        If a generated table was measured instead of a published one.
    """
    if generated := _generated(results):
        raise ValueError(
            f"the pages need {published(generated)!r}, but {results} holds measurements of the "
            "generated table that stands for it; put the file into MARGIN_DATA, and run the study "
            "again with another --out"
        )
    readings = load(results / FILE)
    READINGS.mkdir(exist_ok=True)
    copies = [READINGS / f"{name}.json"]
    shutil.copyfile(results / FILE, copies[0])
    for picture in readings.pictures:
        copy = FIGURES / picture_name(name, picture)
        shutil.copyfile(results / picture, copy)
        copies.append(copy)
    return copies + _keep_rows(name, results, readings)


def _keep_rows(name: str, results: Path, readings: Readings) -> list[Path]:
    """Copy the rows of a study that was broken off; remove those of one that is whole."""
    shutil.rmtree(ROWS / name, ignore_errors=True)
    rows = sorted(results.glob("*.csv"))
    is_whole = not any(UNFINISHED in note for note in readings.notes)
    if is_whole or sum(path.stat().st_size for path in rows) > _MOST_BYTES:
        return []
    (ROWS / name).mkdir(parents=True)
    return [Path(shutil.copy(path, ROWS / name)) for path in rows]


def continued(name: str, results: Path) -> list[Path]:
    """Put the kept rows of a study where its run finds them; none if it has rows of its own."""
    if any(results.glob("*.csv")):
        return []
    return [Path(shutil.copy(path, results)) for path in sorted((ROWS / name).glob("*.csv"))]


def _generated(results: Path) -> str | None:
    """The name of a generated table that was measured instead of a published one."""
    for file in results.glob("*.csv"):
        for row in read(file):
            for value in row.values():
                if value.endswith(GENERATED):
                    return value
    return None


def kept() -> dict[str, Readings]:
    """The readings in the repository, by the name of the study."""
    return {path.stem: load(path) for path in sorted(READINGS.glob("*.json"))}


def picture_name(name: str, picture: str) -> str:
    """The file in docs/figures of a picture of a study."""
    stem = Path(picture).stem
    study = name.replace("_", "-")
    whole = study if study.endswith(stem) else stem if stem.startswith(study) else f"{study}-{stem}"
    return f"{whole}.png"


def numbers(rows: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Rows whose texts that are numbers have become numbers, as a file of rows has texts only."""
    return tuple({name: _number(value) for name, value in row.items()} for row in rows)


def png(pictures: Sequence[Path]) -> tuple[str, ...]:
    """The names of the PNG files among the pictures."""
    return tuple(picture.name for picture in pictures if picture.suffix == ".png")


def _matches(row: dict[str, Any], where: dict[str, Any]) -> bool:
    return all(row.get(name) == value for name, value in where.items())


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _rounded(value: Any) -> Any:
    """A number with few digits, "" for NaN, and a text as it is."""
    if isinstance(value, (str, int)) or value is None:
        return value
    number = float(value)
    if not math.isfinite(number):
        return "" if math.isnan(number) else str(number)
    return float(f"{number:.{_DIGITS}g}")
