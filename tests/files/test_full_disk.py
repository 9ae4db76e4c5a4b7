"""A disk that is full while a model is trained or used: the file is named, the last checkpoint
stays good.
"""

import json
import os
import subprocess
import zipfile

import pytest
from killed import LANGUAGE_MODEL, SETTINGS


from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.writing import open_output


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
    with zipfile.ZipFile(small_disk / "run" / "checkpoints" / "last.keras") as archive:
        assert (
            archive.testzip() is None and json.loads(archive.read("training.json"))["batches"] > 1
        )
    assert not list(small_disk.rglob("partial-*"))
    filler.unlink()
    assert rnnsearch([*words, "--resume"]) == 0


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_an_output_names_its_file(small_disk, ending):
    space = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(space.f_bavail * space.f_bsize))
    output = small_disk / f"results{ending}"
    with pytest.raises(UserError) as error, open_output(str(output)) as write:
        write(map(str, range(100_000)))
    assert str(error.value).startswith(f"{output}: expected a place that can be written")
    assert "No space left on device; free some space there" in str(error.value)
