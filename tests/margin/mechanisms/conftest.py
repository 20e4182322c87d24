import pytest

from margin.audit import trial


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Audits of mechanisms draw their answers again in two runs, on a small and on a full table.
    The gate draws for all of them; tests/margin/audit tests its laws in six."""
    monkeypatch.setattr(trial, "_LAW_RUNS", 2)
