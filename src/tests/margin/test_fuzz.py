"""A thousand wrong and odd inputs: each gives a right release or a typed error that carries no
value of the data.

`MARGIN_FUZZ` multiplies the number of cases.
"""

import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import margin
from margin import Domain, MarginError, PriView, PureDP
from margin.privacy.account import Account
from margin.privacy.budget import Neighbours, budget_from_json
from margin.privacy.ledger import Ledger

MANY = int(os.environ.get("MARGIN_FUZZ", "1"))
SECRET = "s3cr3t"


def cases(count):
    return settings(
        max_examples=count * MANY,
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
        ],
    )


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.decimals(),
    st.just(object()),
    st.lists(st.integers(), max_size=2),
    st.complex_numbers(),
)
names = st.sampled_from(["a", "b", "c", "", " ", "ü", "a b", "x" * 50])
values = st.one_of(
    st.integers(-3, 3), st.floats(), st.text("ab01. ", max_size=2), st.booleans(), st.none()
)
forms = st.one_of(
    st.integers(-2, 5),
    st.lists(values, max_size=4),
    st.fixed_dictionaries(
        {},
        optional={
            "size": st.one_of(st.integers(-1, 4), junk),
            "values": st.one_of(st.lists(values, max_size=4), junk),
            "bins": st.one_of(st.lists(st.floats() | st.integers(-3, 9), max_size=4), junk),
            "other": values,
            "missing": values,
            "else": values,
        },
    ),
    junk,
)
cells = st.one_of(
    st.integers(-1, 4),
    st.just(SECRET),
    st.none(),
    st.floats(),
    st.booleans(),
    st.text("ab01", max_size=2),
)


def silent(error):
    """Neither an error message nor the messages of its causes may hold a value of the data."""
    while error is not None:
        assert isinstance(error, MarginError), repr(error)
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def good(release, domain):
    for name in domain:
        answer = release.marginal([name])
        assert answer.counts.shape == (domain[name].size,) and np.isfinite(answer.counts).all()


@cases(200)
@given(st.dictionaries(names | st.none() | st.integers() | st.booleans(), forms, max_size=3))
def test_domains(declared):
    try:
        domain = Domain(declared)
    except MarginError:
        return
    assert Domain.from_json(domain.to_json()) == domain
    assert all(attribute.size >= 1 for attribute in domain.values())


@cases(150)
@given(
    st.sampled_from(
        [{"a": 3, "b": 2}, {"a": ["a", "b"], "b": {"values": [0, 1], "other": "x", "missing": "y"}}]
    ),
    st.dictionaries(st.sampled_from("ab"), st.lists(cells, max_size=6), min_size=1, max_size=2),
)
def test_tables(declared, table):
    domain = Domain(declared)
    book = Booked()
    try:
        made = margin.release(
            table,
            domain=domain,
            budget=PureDP(1),
            mechanism=PriView(views=[["a", "b"]]),
            ledger=book,
        )
    except MarginError as error:
        silent(error)
        assert not book.charges, "an error about the data comes before any charge"
        return
    assert book.charges == 1
    good(made, domain)


class Booked:
    charges = 0

    def charge(self, budget):
        self.charges += 1


@cases(100)
@given(
    st.lists(
        st.lists(st.one_of(cells.map(str), st.text('",\n\r\0é;', max_size=3)), max_size=4),
        max_size=6,
    ),
    st.booleans(),
)
def test_csv_files(tmp_path, lines, headed):
    path = tmp_path / "t.csv"
    text = ("a,b\n" if headed else "") + "\n".join(",".join(line) for line in lines)
    path.write_bytes(text.encode("utf-8" if len(text) % 5 else "utf-16", "replace"))
    domain = Domain({"a": 3, "b": {"values": ["0", "1"], "other": "x"}})
    try:
        made = margin.release(
            path, domain=domain, budget=PureDP(1), mechanism=PriView(views=[["a", "b"]])
        )
    except MarginError as error:
        silent(error)
        return
    good(made, domain)


@cases(150)
@given(junk, junk, junk, junk)
def test_budgets(epsilon, delta, neighbours, rows):
    for make in (
        lambda: PureDP(epsilon, neighbours=neighbours),
        lambda: margin.ZCDP(epsilon, rows_per_person=rows),
        lambda: margin.ApproxDP(epsilon, delta),
        lambda: PureDP(epsilon, neighbours=Neighbours.REPLACE_ROW),
    ):
        try:
            budget = make()
        except MarginError:
            continue
        assert budget_from_json(budget.to_json()) == budget and budget.units >= 1
        assert Account(budget).remaining == budget.units


@cases(100)
@given(
    st.one_of(junk, st.lists(st.lists(names | junk, max_size=3), max_size=3)),
    st.one_of(junk, st.lists(junk, max_size=3)),
)
def test_arguments_of_a_release(views, workload):
    domain = Domain({"a": 2, "b": 3})
    try:
        made = margin.release(
            np.zeros((4, 2), int),
            domain=domain,
            budget=PureDP(1),
            mechanism=PriView(views=views),
            workload=workload,
        )
    except MarginError:
        return
    good(made, domain)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "x.margin"
    mechanism = PriView(views=[["a", "b"], ["b", "c"]])
    margin.release(
        np.zeros((9, 3), int),
        domain=Domain({"a": 2, "b": 3, "c": 2}),
        budget=PureDP(1),
        mechanism=mechanism,
    ).save(path)
    return path


@cases(150)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    st.integers(0, 10**6),
)
def test_margin_files_with_wrong_bytes(release, tmp_path, changes, cut):
    data = bytearray(release.read_bytes())
    for place, byte in changes:
        data[place % len(data)] = byte
    if cut % 3 == 0:
        del data[cut % len(data) :]
    path = tmp_path / "y.margin"
    path.write_bytes(bytes(data))
    try:
        loaded = margin.load(path)
    except margin.FileError:
        return
    assert loaded.views[0].counts.shape == margin.load(release).views[0].counts.shape


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@cases(100)
@given(st.data())
def test_margin_files_with_wrong_content(release, tmp_path, data):
    import hashlib

    with zipfile.ZipFile(release) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(contents["manifest.json"])
    key = data.draw(st.sampled_from(sorted(manifest)))
    manifest[key] = data.draw(json_values)
    contents["manifest.json"] = json.dumps(manifest).encode()
    sums = {
        name: hashlib.sha256(part).hexdigest()
        for name, part in contents.items()
        if name != "checksums.json"
    }
    contents["checksums.json"] = json.dumps(sums).encode()
    path = tmp_path / "y.margin"
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in contents.items():
            archive.writestr(name, part)
    try:
        margin.load(path, allow_simulation=True)
    except margin.FileError:
        return
    assert key in ("private", "version", "mechanism", "reconstruction", "charge", "variances")


@cases(50)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6))
def test_ledgers_with_wrong_bytes(tmp_path_factory, changes):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "x.db")
    ledger.register("d", PureDP(1))
    ledger.charge("d", PureDP("0.5"))
    data = bytearray(ledger.path.read_bytes())
    for place, byte in changes:
        data[place % len(data)] = byte
    ledger.path.write_bytes(bytes(data))
    try:
        ledger.charge("d", PureDP("0.25"))
    except MarginError:
        return
    assert ledger.spent("d") == 0.75
