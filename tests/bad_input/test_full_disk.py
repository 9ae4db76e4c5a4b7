"""A disk that is full, or a folder that may not be written to, while a model is trained: the file
is named, the last checkpoint stays good.
"""

import contextlib
import errno
import itertools
import os
import pkgutil
import subprocess
import tempfile

import pytest
import tensorflow as tf
from killed import LANGUAGE_MODEL, SETTINGS

from rnnsearch_tf.files import atomic as files
from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.prepared import writing as preparing
from rnnsearch_tf.runtime.processes import Processes
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder, replacing, write_file
from rnnsearch_tf.files.writing import Output
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text import counting
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.training.checkpoint import load_state


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of half a megabyte; skipped where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], capture_output=True
    ).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_fills_while_a_model_is_trained(small_disk, capsys):
    """An error that names the file; the checkpoint before it is whole, and training resumes once
    there is space.
    """
    words = ["train", "--config", str(small_disk / "c.yaml"), "--output", str(small_disk / "run")]
    (small_disk / "c.yaml").write_text("")
    for setting in (*SETTINGS, *LANGUAGE_MODEL):
        words += ["--set", setting]
    assert rnnsearch([*words, "--set", "training.maximum_updates=2"]) == 0
    space = os.statvfs(small_disk)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(space.f_bavail * space.f_bsize - 8192))
    capsys.readouterr()
    assert rnnsearch([*words, "--resume"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert (
        f"{small_disk / 'run'}/" in said
        and "No space left on device; free some space there, or write elsewhere" in said
    )
    assert load_state(small_disk / "run")[1].batches >= 2
    assert not list(small_disk.rglob("partial-*"))
    filler.unlink()
    assert rnnsearch([*words, "--resume"]) == 0


def test_a_disk_that_is_full_from_the_beginning(small_disk):
    space = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(space.f_bavail * space.f_bsize - 16384))
    with pytest.raises(UserError, match="run/.*No space left on device; free some space"):
        train(load_config(overrides=[*SETTINGS, *LANGUAGE_MODEL]), small_disk / "run")


TEXT = ["The door is white.", "She goes to the hotel."]


@pytest.mark.parametrize(
    "words",
    [
        "translate",
        pytest.param("translate --n-best 2", marks=pytest.mark.slow),
        pytest.param("translate --json", marks=pytest.mark.slow),
        pytest.param("rescore --source S N", marks=pytest.mark.slow),
        pytest.param("align", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_every_writer_of_lines_names_its_file(small_disk, whole, tmp_path, capsys, words, ending):
    for name, lines in (
        ("S", TEXT),
        ("T", ["La porte est blanche.", "Elle va."]),
        ("N", [f"{k} ||| La porte ||| lm= -1 ||| -1" for k in (0, 1)]),
    ):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    space = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(space.f_bavail * space.f_bsize))
    verb, *more = words.split()
    files = {"align": ["S", "T"], "rescore": []}.get(verb, ["S"])
    output = small_disk / f"results{ending}"
    more = [str(tmp_path / word) if word in "STN" else word for word in (*more, *files)]
    assert rnnsearch([verb, "--model", str(whole), "--output", str(output), *more]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        f"rnnsearch: error: {output}: expected a file that can be written, got: No space left on"
        " device; free some space there"
    )


def full_disk_for(monkeypatch, ending):
    """Writing of files whose names end so meets a full disk: the system's /dev/full."""

    def opened(path, mode="r", **keywords):
        full = "w" in mode and str(path).endswith(ending)
        return open("/dev/full" if full else path, mode, **keywords)

    for module in (files, counting):
        monkeypatch.setattr(module, "open", opened, raising=False)


@pytest.mark.parametrize(
    "name",
    [
        "part-000000.ids.bin",
        "part-000001.lengths.bin",
        "/ids.bin",
        "/offsets.bin",
        "/lengths.bin",
        "count-000001.target",
    ],
)
def test_preparing_names_the_file_that_a_disk_is_too_full_for(tmp_path, monkeypatch, name):
    for number, side in itertools.product((0, 1), ("source", "target")):
        (tmp_path / f"{number}.{side}").write_text("one two\nthree\n" * 3)
    data = {f"train_{side}": str(tmp_path / f"*.{side}") for side in ("source", "target")}
    config = load_config(
        values={
            "source": {"tokenization": "space"},
            "target": {"tokenization": "space"},
            "data": data,
        }
    )
    monkeypatch.setattr(preparing, "Processes", InThisProcess)
    full_disk_for(monkeypatch, name)
    expected = (
        f"{tmp_path}/.prepared.partial/{name.lstrip('/')}: expected a file that can be written,"
        " got: No space left on device; free"
    )
    with pytest.raises(UserError, match=expected):
        preparing.prepare(config, tmp_path / "prepared", processes=2)
    monkeypatch.undo()
    assert preparing.prepare(config, tmp_path / "prepared", processes=1).count == 12


class InThisProcess(Processes):
    """As many as asked for, without starting any."""

    def call(self, function, requests, doing):
        for request in requests:
            pkgutil.resolve_name(function)(**request)


def test_words_put_aside_name_the_folder(monkeypatch):
    monkeypatch.setattr(counting.tempfile, "TemporaryFile", lambda: open("/dev/full", "wb"))
    counts = counting.TokenCounts(tf.strings.split, most_words=1)
    with pytest.raises(
        UserError,
        match=(
            f"{tempfile.gettempdir()}: expected a file that can be written, got: No space left on"
            " device; free"
        ),
    ):
        counts.add([f"word{number}" for number in range(10_000)])


@contextlib.contextmanager
def nobody():
    """Inside, this process has no right to write to what root owns."""
    if os.geteuid():
        pytest.skip("only root can become nobody")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_written_to(tmp_path):
    for folder in tmp_path.parents[:-1]:
        if folder.stat().st_uid == 0:
            folder.chmod(folder.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    with nobody():
        for write in (
            lambda: write_file(tmp_path / "f", "x"),
            lambda: Output(tmp_path / "f"),
            lambda: new_folder(tmp_path / "f").__enter__(),
        ):
            with pytest.raises(
                UserError,
                match=(
                    f"{tmp_path / 'f'}: expected a file that can be written, got: Permission"
                    " denied; check the folder"
                ),
            ):
                write()
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "f"
    write_file(path, "old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(
        UserError,
        match=f"{path}: expected a file that can be written, got: No space left on device",
    ):
        write_file(path, "new")
    with pytest.raises(KeyError), replacing(path) as partial:
        partial.write_text("half")
        raise KeyError
    monkeypatch.undo()
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["f"]


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(
        files.os,
        "fsync",
        lambda descriptor: steps.append(os.readlink(f"/proc/self/fd/{descriptor}")),
    )
    real = os.replace
    monkeypatch.setattr(
        files.os, "replace", lambda old, new: (steps.append(f"{old} -> {new}"), real(old, new))
    )
    Run(tmp_path)._write_checksums({"a": {"0" * 64}})
    old = tmp_path / "partial-SHA256SUMS"
    new = tmp_path / "SHA256SUMS"
    assert steps in ([str(old), f"{old} -> {new}", str(tmp_path)],)
