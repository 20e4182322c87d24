"""The public names can be imported quickly, and all of them exist."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import margin

HEAVY = [
    "cvxpy",
    "duckdb",
    "matplotlib",
    "networkx",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pulp",
    "pyarrow",
    "pyspark",
]
HEAVY += ["argcomplete", "scipy", "scipy.linalg", "scipy.optimize", "scipy.sparse", "xarray"]


def loaded(code):
    """The heavy modules that a new interpreter has loaded after running some code."""
    code = f"import sys\n{code}\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stdout)


@pytest.mark.parametrize(
    "code", ["import margin", "import margin.cli.main; margin.cli.main._parser()"]
)
def test_importing_margin_loads_nothing_heavy(code):
    assert loaded(code) == []


def test_what_is_heavy_is_loaded_when_it_is_used():
    """The check above can fail: a use of the names does load heavy modules."""
    assert loaded("import margin; margin.PureDP") == ["numpy"]
    assert "scipy.sparse" in loaded("import margin; margin.PriView()")


def test_reading_a_file_loads_no_part_of_scipy():
    """`margin info` and `margin marginal` start in half the time without it."""
    assert [name for name in loaded("import margin; margin.load") if "scipy." in name] == []


def test_counting_a_file_loads_no_pandas(tmp_path):
    """A release of a small file starts sooner without it by a quarter."""
    (tmp_path / "rows.csv").write_text("sex,children\nF,0\n,2\nM,\n")
    domain = {"sex": {"values": ["F", "M"], "missing": "?"}, "children": {"size": 3, "missing": 2}}
    path = str(tmp_path / "rows.csv")
    views = [["sex", "children"]]
    code = f"import margin; margin.data.count({path!r}, margin.Domain({domain}), {views})"
    assert "pandas" not in loaded(code)


def test_every_public_name_resolves_and_is_in_the_list_for_type_checkers():
    stub = ast.parse((Path(margin.__file__).with_suffix(".pyi")).read_text())
    imported = {
        alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    (listed,) = (ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))
    assert set(margin.__all__) == imported == set(listed) and len(listed) == len(set(listed))
    assert set(listed) <= set(dir(margin))
    for name in margin.__all__:
        assert getattr(margin, name) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compare", "plan", "release"])
def test_a_function_is_not_hidden_by_the_file_of_its_name(name):
    """Python binds the name of an imported file in its package."""
    code = (
        f"import margin.{name}, margin; from margin import {name}; "
        f"assert callable(margin.{name}) and callable({name})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nobody"):
        margin.nobody  # noqa: B018


def test_a_name_of_another_room_is_told():
    with pytest.raises(AttributeError, match=r"it is margin\.mechanisms\.Flat"):
        margin.Flat  # noqa: B018


def test_a_simulation_has_a_short_text():
    made = margin.simulate({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1), seed=0)
    assert repr(made) == "<Simulation: ViewSynopsis, attributes: a; not private>"


def test_several_names_in_one_text_are_told():
    domain = margin.Domain({"sex": 2, "age": 3})
    with pytest.raises(margin.DomainError, match=r"pass a list: \['sex', 'age'\]"):
        domain["sex, age"]


def test_a_key_of_dates_in_the_wrong_place_is_told():
    with pytest.raises(margin.DomainError, match="'by' belongs inside dates"):
        margin.Domain({"day": {"dates": {}, "by": "month"}})
