import pytest
from small_suites import SMALL

from mastrain.suite import read_suite


@pytest.fixture
def suites(tmp_path, monkeypatch):
    """name, text -> a suite of that name."""
    folder = tmp_path / "configs" / "suite"
    folder.mkdir(parents=True)
    monkeypatch.setattr("mastrain.suite.configs_dir", lambda: tmp_path / "configs")

    def make(name, text):
        (folder / f"{name}.yaml").write_text(text)
        return read_suite(name)

    return make


@pytest.fixture
def _small(suites):
    suites("small", SMALL)
