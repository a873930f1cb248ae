"""YAML is read alike with libyaml and without it."""

import importlib
from pathlib import Path

import pytest
import yaml

from pharmacy_site.lib import yaml_files

SAMPLE = """
- {name: {en: "Acamol", he: "אקמול"}, price: 19.90, born: 1990-01-02, mrn: "10000108", hours: "08:00-20:00"}
- text: |
    Two lines,
    one of them with a 'quote' and a "gershayim" ״.
  flags: [yes, off, null, ~, 007, 1e3]
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.yaml"
    path.write_text(SAMPLE, encoding="utf-8")
    return path


def test_a_file_is_read_as_pyyaml_reads_it(sample: Path) -> None:
    assert yaml_files.yaml_read(sample) == yaml.safe_load(SAMPLE)


def test_without_libyaml_a_file_is_read_correctly(monkeypatch: pytest.MonkeyPatch, sample: Path) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    try:
        assert importlib.reload(yaml_files).yaml_read(sample) == yaml.safe_load(SAMPLE)
    finally:
        monkeypatch.undo()
        importlib.reload(yaml_files)


def test_a_file_that_asks_for_an_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "harmful.yaml"
    path.write_text("!!python/object/apply:os.getcwd []", encoding="utf-8")
    with pytest.raises(yaml.YAMLError):
        yaml_files.yaml_read(path)
