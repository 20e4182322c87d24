import pytest


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path, monkeypatch):
    """The audit watches the working folder: no other process may write there meanwhile."""
    monkeypatch.chdir(tmp_path)
