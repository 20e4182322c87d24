import pytest


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path_factory, monkeypatch):
    """The audit watches the working folder: neither another process nor the test itself may write
    there meanwhile."""
    monkeypatch.chdir(tmp_path_factory.mktemp("working"))
