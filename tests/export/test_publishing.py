"""How a version comes into being: whole, checked, or not at all."""

import pathlib

import pytest

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export import publishing, writer
from rnnsearch_tf.export.profile import load_profile
from rnnsearch_tf.files.atomic import new_folder

ROOT = pathlib.Path(__file__).parents[2]
LITTLE = ["signatures=[translate]", "warmup_requests=1"]


def entries(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_an_existing_version_is_never_overwritten(run_folder, exported, capsys):
    before = {path: path.stat().st_mtime_ns for path in exported.rglob("*")}
    words = ["--model", str(run_folder), "--output", str(exported.parent), "--version", "1"]
    assert rnnsearch(["export", *words]) == 1
    assert "expected a new version, got one that exists" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in exported.rglob("*")} == before


def test_what_a_kill_leaves_is_no_version(tmp_path):
    """The name that a folder has until it is complete; the next export removes it."""
    served = tmp_path / "served"
    (served / "partial-1").mkdir(parents=True)
    (served / "partial-1" / "saved_model.pb").touch()
    assert publishing.exported_version(served) is None
    target = publishing.version_folder(served)
    with new_folder(target) as folder:
        (folder / "saved_model.pb").touch()
    assert target == served / "1" and publishing.exported_version(served) == target
    assert entries(served) == ["1"]


def test_the_next_version_is_the_highest_and_one(tmp_path):
    for name in ("1", "10", "not-a-version", "partial-11"):
        (tmp_path / name).mkdir()
    assert publishing.version_folder(tmp_path, None).name == "11"
    assert publishing.version_folder(tmp_path / "new", None).name == "1"
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="expected a folder"):
        publishing.version_folder(tmp_path / "file", None)


def test_a_model_that_answers_otherwise_is_not_published(run_folder, tmp_path, monkeypatch):
    """The weights change after they were stored: a new process gives other answers."""
    check_export = writer.check_export

    def spoil(folder, functions, *others):
        assert publishing.exported_version(folder.parent) is None  # what a server sees meanwhile
        for stored in functions.weights.__self__.variables:
            stored.assign(-stored)
        return check_export(folder, functions, *others)

    monkeypatch.setattr(writer, "check_export", spoil)
    with pytest.raises(UserError, match="translate: expected the .* that this process gives"):
        writer.export_model(run_folder, tmp_path / "served", overrides=LITTLE)
    assert entries(tmp_path / "served") == []


def test_shipped_profiles_load():
    paths = sorted((ROOT / "export").glob("*.yaml"))
    assert [path.stem for path in paths] == ["accurate", "fast", "small"]
    for path in paths:
        load_profile(SearchConfig(), path)
    with pytest.raises(UsageError, match="fast: expected the path of a profile, got none"):
        load_profile(SearchConfig(), "fast")


def test_a_profile_starts_from_the_runs_own_search():
    search = SearchConfig(beam_size=7, length_penalty=0.5)
    profile = load_profile(search, overrides=["search.beam_size=9"])
    assert (profile.search.beam_size, profile.search.length_penalty) == (9, 0.5)
    assert load_profile(SearchConfig(beam_size=3)).nbest == 3  # a smaller beam, a shorter list
