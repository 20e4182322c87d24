"""Values of every kind that a cell can have, and attributes that tell them apart."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa

from margin.domain.attribute import Attribute

UTC = datetime.UTC
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
DAY = datetime.date(2020, 1, 31)
NOON = datetime.datetime(2020, 1, 31, 12, 30)

# Values of each kind, and the Arrow type of a column that holds them; None where no type does.
KINDS = {
    "whole numbers": ([0, 1, 2, 7, 12, -3, 2**40, 10**15 + 1, 7, 7], pa.int64()),
    "floats": (
        [0.0, -0.0, 7.0, 1.5, 0.1, 5e10, 1e15, -2.25, 1e-7, 0.30000000000000004, math.nan],
        pa.float64(),
    ),
    "floats of 32 bits": (
        [np.float32(x) for x in (0.1, 0.7, 7, 1.5, -0.0, 1e6, 3.14159, math.nan)],
        pa.float32(),
    ),
    "decimals": (
        [Decimal(x) for x in ("7.00", "0.10", "-2.50", "1.50", "12345678.25", "0.00")],
        pa.decimal128(20, 2),
    ),
    "truth values": ([True, False], pa.bool_()),
    "texts": (
        ["F", " F", "F ", "f", "A-17", "x y", "no", "person-000123", "3f2a", "e9", "E-", "--"],
        pa.string(),
    ),
    "texts that look like numbers": (
        [
            "7",
            " 7",
            "7.0",
            "07",
            "+7",
            "7.",
            "1e3",
            "1000",
            "0.10",
            ".1",
            "-0",
            "5e+10",
            "1_0",
            "0x7",
            "TRUE",
            "inf",
        ],
        pa.string(),
    ),
    "texts beyond ASCII": (
        ["é", "e\u0301", "\u00a0é", "\uff21", "ﬁ", "日本", "\uff17", "ß", "SS"],
        pa.string(),
    ),
    "dates": (
        [DAY, datetime.date(1999, 12, 31), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
        pa.date32(),
    ),
    "dates and times": (
        [
            NOON,
            datetime.datetime(2020, 1, 31),
            NOON.replace(microsecond=250_000),
            NOON.replace(year=1969),
        ],
        pa.timestamp("us"),
    ),
    "instants": (
        [
            NOON.replace(tzinfo=UTC),
            NOON.replace(hour=13, tzinfo=BERLIN),
            datetime.datetime(2020, 1, 31, tzinfo=UTC),
        ],
        pa.timestamp("us", "UTC"),
    ),
    "missing among texts": (["x", None, "", " ", "nan", "NA", "None", "7"], pa.string()),
}
DECLARED = {
    "values": Attribute(
        values=[
            "F",
            "7",
            0.1,
            "1.5",
            "A-17",
            "07",
            True,
            "2020-01-31",
            "2020-01-31 12:30:00",
            "é",
            1000,
            "-2.5",
            "12:30:00",
        ],
        other="other",
        missing="?",
    ),
    "bins": Attribute(
        bins=[-math.inf, -2.5, 0, 0.1, 0.7, 1.5, 7, 5e10, 1e15, math.inf],
        other="other",
        missing="?",
    ),
    "size": Attribute(size=13, other=11, missing=12),
    "spellings": Attribute(
        values={"F": ["f", "7"], "M": ["x y", 0.1, "07"], "day": ["2020-01-31", "e\u0301"]},
        other="M",
        missing="?",
    ),
    "weeks": Attribute(
        dates={"from": "2019-12-31", "to": "2020-02-02", "by": "week"}, other="other", missing="?"
    ),
    "years": Attribute(
        dates={"from": "1969-07-20", "to": "2020-01-01", "by": "year"}, other="other", missing="?"
    ),
    "levels": Attribute(
        levels={
            "names": ["top", "middle", "leaf"],
            "paths": [
                ["a", "a1", "7"],
                ["b", "b1", "F"],
                ["a", "a1", 1.5],
                ["b"],
                ["a", "a2", "07"],
                ["a", "x y"],
                ["b", "b2", "2020-01-31"],
            ],
        },
        other="other",
        missing="?",
    ),
}
