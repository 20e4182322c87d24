"""Which warnings of a run are compared."""

import sys
import types
import warnings

from margin.audit.outputs.spark import gate_draws
from margin.audit.outputs.watched_streams import watched_warnings


def test_only_warnings_of_pyspark_while_noise_is_drawn_are_left_out(tmp_path, monkeypatch):
    package = types.ModuleType("py4j")
    package.__file__ = str(tmp_path / "py4j" / "__init__.py")
    monkeypatch.setitem(sys.modules, "py4j", package)
    inside, beside = str(tmp_path / "py4j" / "java.py"), str(tmp_path / "py4j.py")
    with watched_warnings() as found:
        warnings.warn_explicit("before", FutureWarning, inside, 1)
        with gate_draws():
            warnings.warn_explicit("left out", FutureWarning, inside, 1)
            warnings.warn_explicit("of another file", UserWarning, beside, 1)
        for _ in range(2):
            warnings.warn_explicit("repeated", FutureWarning, inside, 1)
    expected = ["before", "of another file", "repeated", "repeated"]
    assert [text for _, text in found] == expected and found[1][0] == "UserWarning"
