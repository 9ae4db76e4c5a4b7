"""A RUN whose files were changed after training: nothing of it loads silently."""

import hashlib
import logging
import shutil
import subprocess

import pytest

from rnnsearch_tf.runs import folder as run_module
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.cleaning import saved_progress
from rnnsearch_tf.runs.folder import Run, digest_of
from rnnsearch_tf.translation import Translator

LINES = ["The door is white.", "She goes to the hotel."]


def flip(path, place=0.5):
    """Change the lowest bit of one byte."""
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)


def swap_lines(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[10], lines[11] = lines[11], lines[10]
    path.write_text("\n".join(lines), encoding="utf-8")


def test_a_whole_run_loads_without_a_word(run, caplog):
    with caplog.at_level(logging.WARNING, "rnnsearch_tf"):
        Translator.load(run)
    assert [record for record in caplog.records if record.name == "rnnsearch_tf"] == []


@pytest.mark.parametrize("damage", [flip, swap_lines])
@pytest.mark.parametrize(
    "name", ["vocabulary.source.txt", "vocabulary.target.txt", "best/model.weights.h5"]
)
def test_damage_is_one_clear_error(run, name, damage):
    if damage is swap_lines and name.endswith(".h5"):

        def damage(path):
            return flip(path, 0.9)

    damage(run / name)
    with pytest.raises(UserError, match="expected the file that training wrote") as raised:
        Translator.load(run)
    assert str(raised.value).startswith(f"{run / name}: ") and "SHA256SUMS" in str(raised.value)


def test_every_door_is_watched(run, tmp_path):
    from rnnsearch_tf.cli.main import run as rnnsearch

    (tmp_path / "s").write_text("\n".join(LINES) + "\n")
    swap_lines(run / "vocabulary.target.txt")
    for words in (
        ["translate", "--model", run],
        ["export", "--model", run, "--output", tmp_path / "e"],
    ):
        files = ["s"] if words[0] == "translate" else []
        assert (
            rnnsearch([str(word) for word in [*words, *(tmp_path / name for name in files)]]) == 1
        )
    assert not (tmp_path / "e").exists() or not list((tmp_path / "e").iterdir())


def test_an_edited_configuration_is_one_warning(run, caplog):
    """People do edit it: the beam size, say."""
    path = run / "config.yaml"
    path.write_text(path.read_text().replace("beam_size: 3", "beam_size: 2"))
    with caplog.at_level(logging.WARNING, "rnnsearch_tf"):
        assert Translator.load(run).config.search.beam_size == 2
    assert len(caplog.records) == 1 and str(path) in caplog.text and "changed" in caplog.text


def test_a_run_without_checksums_loads_with_one_notice(run, caplog):
    (run / "SHA256SUMS").unlink()
    with caplog.at_level(logging.WARNING, "rnnsearch_tf"):
        Translator.load(run)
        Translator.load(run)
    assert len(caplog.records) == 1 and "SHA256SUMS" in caplog.text and "sha256sum" in caplog.text


def test_a_list_that_is_none(run):
    (run / "SHA256SUMS").write_text("checksums\n")
    with pytest.raises(UserError, match=r"SHA256SUMS:1: expected a line"):
        Translator.load(run)


@pytest.mark.parametrize("size", [0, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_every_byte_of_a_large_file_counts(tmp_path, size):
    path = tmp_path / "weights"
    data = bytes(range(256)) * (size // 256) + b"!" * (size % 256)
    path.write_bytes(data)
    assert digest_of(path) == hashlib.sha256(data).hexdigest()


def test_evaluated_weights_are_in_the_order_of_their_batches(tmp_path):
    """Averaging takes the last of them, and training deletes the first."""
    folder = Run(tmp_path)
    folder.evaluated.mkdir()
    paths = [folder.weights_after(batches) for batches in (5, 900, 1000, 20_000, 1_000_000)]
    for path in reversed(paths):
        path.touch()
    assert folder.evaluated_weights() == paths


def test_a_removed_file_has_no_checksum(tmp_path):
    """`sha256sum --check` would miss it."""
    folder = Run(tmp_path)
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_text(path.name)
    folder.record(paths)
    folder.remove(paths[0])
    assert not paths[0].exists()
    assert folder.checksums.read_text() == f"{hashlib.sha256(b'two').hexdigest()}  two\n"


def test_the_list_is_that_of_sha256sum(run):
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=run, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    names = {line.split("  ")[1] for line in (run / "SHA256SUMS").read_text().splitlines()}
    assert names == {
        "config.yaml",
        "vocabulary.source.txt",
        "vocabulary.target.txt",
        "best/model.weights.h5",
    }


@pytest.mark.parametrize("killed_at", [1, 2, 3])
def test_a_kill_while_weights_are_replaced_leaves_a_run_that_loads(run, monkeypatch, killed_at):
    """Before the list is written, between list and file, between file and list."""
    steps = []

    def replace(old, new, real=run_module.os.replace):
        steps.append(new)
        if len(steps) == killed_at:
            raise KeyboardInterrupt
        real(old, new)

    partial = run / "best" / "partial.weights.h5"
    shutil.copyfile(run / "best" / "model.weights.h5", partial)
    data = bytearray(partial.read_bytes())
    flip(partial)
    monkeypatch.setattr(run_module.os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        Run(run).replace(partial, Run(run).best_weights)
    monkeypatch.undo()
    Run(run).verify()
    assert ((run / "best" / "model.weights.h5").read_bytes() == bytes(data)) == (killed_at < 3)


def test_weights_that_a_training_replaces_meanwhile_are_whole(run, monkeypatch):
    """The list of checksums was read before, the weights are read after that."""
    weights = run / "best" / "model.weights.h5"

    def slow(path):
        if path == weights:
            monkeypatch.setattr(run_module, "digest_of", digest_of)
            (run / "partial").write_bytes(b"better weights")
            Run(run).replace(run / "partial", weights)
        return digest_of(path)

    monkeypatch.setattr(run_module, "digest_of", slow)
    Run(run).verify()
    assert weights.read_bytes() == b"better weights"
    flip(weights)
    with pytest.raises(UserError, match="expected the file that training wrote"):
        Run(run).verify()


def test_training_writes_them_and_averaging_reads_them(tmp_path, capsys):
    from rnnsearch_tf.cli.main import run as rnnsearch

    settings = [
        "data.corpus=phrasebook",
        "data.phrasebook_size=40",
        "data.batching=bucketed",
        "data.batch_size=8",
        "training.epochs=4",
    ]
    settings += [f"model.{name}_size=8" for name in ("embedding", "hidden", "alignment", "maxout")]
    settings += ["model.output_rank=null", "training.evaluate_sentences=2", "search.beam_size=2"]
    config = tmp_path / "c.yaml"
    config.write_text("")
    output = tmp_path / "run"
    words = [
        "train",
        "--config",
        str(config),
        "--output",
        str(output),
        *(word for text in settings for word in ("--set", text)),
    ]
    assert rnnsearch(words) == 0
    listed = dict(
        reversed(line.split("  ")) for line in (output / "SHA256SUMS").read_text().splitlines()
    )
    files = [
        output / name
        for name in (
            "config.yaml",
            "vocabulary.source.txt",
            "vocabulary.target.txt",
            "best/model.weights.h5",
        )
    ]
    files += (output / "evaluated").iterdir()
    assert len(files) == 8
    assert listed == {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    assert rnnsearch(["average", str(output)]) == 0
    Run(output / "averaged").verify()
    flip(files[-1])
    capsys.readouterr()
    assert rnnsearch(["average", "--output", str(tmp_path / "again"), str(output)]) == 1
    assert "expected the file that training wrote" in capsys.readouterr().err
    swap_lines(output / "vocabulary.source.txt")
    assert (
        rnnsearch(["train", "--resume", "--output", str(output), "--set", "training.epochs=5"]) == 1
    )
    assert "vocabulary.source.txt: expected the file that training wrote" in capsys.readouterr().err
    swap_lines(output / "vocabulary.source.txt")
    for checkpoint in (output / "checkpoints").glob("*.keras"):
        flip(checkpoint, 0.7)
    assert (
        rnnsearch(["train", "--resume", "--output", str(output), "--set", "training.epochs=5"]) == 1
    )
    assert "got a damaged one" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000])
def test_a_damaged_state_is_a_training_without_numbers(tmp_path, text):
    run = Run(tmp_path)
    run.checkpoints.mkdir()
    run.state.write_text(text)
    assert saved_progress(run) == {}
    with pytest.raises(UsageError, match="expected a folder without a training, found one"):
        run.refuse_training()
