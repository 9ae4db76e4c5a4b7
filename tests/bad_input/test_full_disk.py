"""A disk that is full, or a folder that may not be written to, while a model is trained: the file
is named, the last checkpoint stays good.
"""

import contextlib
import errno
import os
import subprocess

import pytest
from killed import LANGUAGE_MODEL, SETTINGS

from rnnsearch_tf.files import atomic as files
from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder, replacing, write_file
from rnnsearch_tf.files.writing import Output
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
    subprocess.run(["umount", "--lazy", folder], check=True)  # ids of a training are mapped


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


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_translations_name_their_file(small_disk, whole, tmp_path, capsys, ending):
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in TEXT))
    space = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(space.f_bavail * space.f_bsize))
    output = small_disk / f"results{ending}"
    words = ["translate", "--model", str(whole), "--output", str(output)]
    assert rnnsearch([*words, str(tmp_path / "source")]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        f"rnnsearch: error: {output}: expected a file that can be written, got: No space left on"
        " device; free some space there"
    )


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
    write_file(tmp_path / "f", "text")
    old = tmp_path / "partial-f"
    assert steps == [str(old), f"{old} -> {tmp_path / 'f'}", str(tmp_path)]
