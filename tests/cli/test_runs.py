"""The list of trainings, from what each of them wrote."""

import contextlib
import json
import os
import pathlib

import pytest

from rnnsearch_tf.cli import runs
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.cli.runs import BARS, CURVE_WIDTH, curve
from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import locked
from rnnsearch_tf.runs import cleaning
from rnnsearch_tf.runs.folder import Run


def write_training(folder, overrides, records, end=""):
    folder.mkdir(parents=True)
    save_config(load_config(overrides=overrides), folder / "config.yaml")
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records) + end, encoding="utf-8"
    )


def listed(capsys, *folders):
    assert run(["runs", *map(str, folders)]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_each_training_is_a_line(tmp_path, capsys):
    batches = [
        {"kind": "batches", "batches": 100 * k, "minutes": k / 2, "loss": 8.0 / k}
        for k in range(1, 5)
    ]
    bleu = [
        {"kind": "development", "batches": 400, "minutes": 2.5, "bleu": value, "best_bleu": 31.25}
        for value in (31.25, 30.0)
    ]
    write_training(tmp_path / "a", ["model.system=luong"], batches + bleu)
    # killed while it wrote
    write_training(tmp_path / "b", ["training.accumulate=2"], batches[:2], end='{"kind": "batc')
    write_training(tmp_path / "c", [], [])
    (tmp_path / "nothing").mkdir()
    write_training(tmp_path / "old", [], batches)
    (tmp_path / "old" / "config.yaml").write_text("model: {initialization: glorot}")
    titles, a, b, c, old = listed(capsys, tmp_path)
    assert titles == ["RUN", "system", "updates", "minutes", "BLEU", "MB", "cleanable", "loss"]
    assert a == [
        str(tmp_path / "a"),
        "luong",
        "400",
        "2.5",
        "31.25",
        "0.0",
        "0.0",
        "2.000",
        curve([8, 4, 8 / 3, 2]),
    ]
    assert b[2:5] == ["100", "1.0", "–"] and b[7] == "4.000"
    assert old[1:3] == ["(refused)", "400"]
    assert c[2:] == ["0", "0.0", "–", "0.0", "0.0", "–"]
    assert listed(capsys, tmp_path / "a")[1] == a


def test_the_score_is_that_of_the_weights_that_are_kept(tmp_path, capsys):
    """Chosen by loss, they may score lower than earlier ones."""
    write_training(
        tmp_path / "a",
        [],
        [
            {"kind": "development", "batches": 400, "minutes": 2.5, "best_bleu": value}
            for value in (31.25, 30.0)
        ],
    )
    assert listed(capsys, tmp_path / "a")[1][4] == "30.00"


def test_a_training_below_its_configuration_is_found(tmp_path, capsys):
    """As init lays them out: mine/config.yaml, mine/run."""
    save_config(load_config(), tmp_path / "config.yaml")
    write_training(tmp_path / "mine" / "run", [], [])
    save_config(load_config(), tmp_path / "mine" / "config.yaml")
    for folder in (tmp_path, tmp_path / "mine"):
        assert [row[0] for row in listed(capsys, folder)[1:]] == [str(tmp_path / "mine" / "run")]


def test_without_a_folder_it_looks_where_the_first_steps_put_them(tmp_path, capsys, monkeypatch):
    """README's mine/run below the current folder, and runs/; as deep as people lay them out, but
    not through a whole disk.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("mine/run", "runs/a", "runs/by/date/b"):
        write_training(tmp_path / name, [], [])
    write_training(tmp_path / "mine" / "run" / "averaged", [], [])
    deep = "/".join("abcdef")
    write_training(tmp_path / deep, [], [])
    write_training(tmp_path / ".hidden" / "run", [], [])
    (tmp_path / "again").symlink_to(".")
    names = ["mine/run", "mine/run/averaged", "runs/a", "runs/by/date/b"]
    assert [row[0] for row in listed(capsys)[1:]] == names
    assert [row[0] for row in listed(capsys, "runs")[1:]] == names[2:]
    assert [row[0] for row in listed(capsys, deep)[1:]] == [deep]
    assert [row[0] for row in listed(capsys, "runs", "runs/a")[1:]] == names[2:]
    monkeypatch.setattr(runs, "MOST_FOLDERS", 3)
    assert [row[0] for row in listed(capsys, "runs")[1:]] == ["runs/a"]


def test_a_large_folder_is_not_searched_to_its_end_without_a_word(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runs, "MOST_FOLDERS", 3)
    write_training(tmp_path / "a", [], [])
    for name in "bcd":
        (tmp_path / name).mkdir()
    assert run(["runs", str(tmp_path)]) == 0
    assert (
        "has more than 3 folders, not all were searched; name the folder of the RUNs"
        in capsys.readouterr().err
    )


def test_a_training_that_was_stopped_before_its_first_record_is_listed(tmp_path, capsys):
    write_training(tmp_path / "a", [], [])
    (tmp_path / "a" / "metrics.jsonl").unlink()
    state = Run(tmp_path / "a").state
    state.parent.mkdir()
    for text, expected in (
        ('{"batches": 70, "seconds": 90.0}', ["70", "1.5", "–"]),
        ('{"batches": 7', ["0", "0.0", "–"]),
    ):
        state.write_text(text)
        assert listed(capsys, tmp_path)[1][2:5] == expected


FINISHED = {
    "batches": 300,
    "epoch": 0,
    "seconds": 60.0,
    "evaluations_since_best": 0,
    "evaluated": 300,
    "averaged": None,
    "best_bleu": 30.0,
    "best_loss": None,
}


def write_finished(folder, overrides=("training.maximum_updates=300",), **progress):
    """A RUN with 3 MB in best/ and 7 MB that its training needed."""
    write_training(folder, list(overrides), [{"kind": "batches", "batches": 300, "minutes": 1}])
    run = Run(folder)
    sizes = {
        run.best_weights: 3,
        run.checkpoints / "batch-300.keras": 4,
        run.weights_after(200): 2,
        run.weights_after(300): 1,
    }
    for path, megabytes in sizes.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(megabytes * 1_000_000))
    run.record([run.config, run.best_weights, *run.evaluated_weights()])
    run.state.write_text(json.dumps(FINISHED | progress))
    return run


def test_a_finished_training_is_cleaned_of_what_only_it_needed(tmp_path, capsys):
    one = write_finished(tmp_path / "one")
    write_finished(tmp_path / "one" / "averaged")
    before = {row[0]: row[5:7] for row in listed(capsys, tmp_path)[1:]}
    assert before == {str(one): ["10.0", "7.0"], str(one.path / "averaged"): ["10.0", "7.0"]}
    assert run(["runs", str(one), "--clean"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{one}: 7.0 MB freed, 3.0 MB kept" and len(said) == 3
    assert "--resume and rnnsearch average are no longer possible" in said[2]
    left = {path.name for path in one.path.iterdir()}
    assert left == {"config.yaml", "metrics.jsonl", "best", "SHA256SUMS", "averaged"}
    one.verify([one.config, one.best_weights])
    assert "evaluated" not in one.checksums.read_text()
    assert [row[5:7] for row in listed(capsys, one)[1:]] == [["3.0", "0.0"]] * 2
    with pytest.raises(UserError, match=f"rnnsearch train --from {one} --output OTHER"):
        one.refuse_resuming()
    assert run(["runs", str(one), "--clean"]) == 0  # nothing is left to do
    assert "no longer possible" not in capsys.readouterr().out


class Killed(BaseException):
    """In place of SIGKILL."""


@pytest.mark.parametrize("number", range(4))
def test_a_kill_while_it_is_cleaned_leaves_what_is_cleaned_later(tmp_path, monkeypatch, number):
    """Whatever the order in which files are deleted: here state.json first."""
    one = write_finished(tmp_path / "one")
    one.previous_state.write_text(json.dumps(FINISHED | {"batches": 200}))
    left = [number]

    def delete(folder):
        for path in sorted(pathlib.Path(folder).iterdir(), reverse=True):
            if not left[0]:
                raise Killed
            left[0] -= 1
            path.unlink()
        os.rmdir(folder)

    with monkeypatch.context() as patch:
        patch.setattr(cleaning.shutil, "rmtree", delete)
        with contextlib.suppress(Killed):
            assert run(["runs", str(one), "--clean"]) == 0
    assert run(["runs", str(one), "--clean"]) == 0
    left = {path.name for path in one.path.iterdir()}
    assert left == {"config.yaml", "metrics.jsonl", "best", "SHA256SUMS"}


def test_what_is_not_cleaned(tmp_path, capsys):
    """One that may go on, that is going on, that has no weights, or whose files are elsewhere; the
    others are.
    """
    two_hours = ["training.maximum_minutes=120"]
    stopped = write_finished(tmp_path / "stopped", two_hours)
    damaged = write_finished(tmp_path / "damaged")
    damaged.state.write_text('{"batches": 7')
    young = write_finished(tmp_path / "young")
    young.best_weights.unlink()
    elsewhere = write_finished(tmp_path / "elsewhere")
    elsewhere.checkpoints.rename(tmp_path / "checkpoints")
    elsewhere.checkpoints.symlink_to(tmp_path / "checkpoints")
    patience = ["training.patience=4", "training.evaluate_every=9"]
    summed = ["training.accumulate=3", "training.maximum_updates=100"]
    older = write_finished(tmp_path / "older")
    older.config.write_text("training: {of_an_older_version: 1}\n")
    halfway = write_finished(tmp_path / "halfway", [summed[0], "training.maximum_updates=200"])
    unscored = write_finished(tmp_path / "unscored", evaluated=200)
    averaging = ["training.maximum_updates=300", "training.average=2", "training.evaluate_every=9"]
    unaveraged = write_finished(tmp_path / "unaveraged", averaging)
    done = [
        write_finished(tmp_path / "waited", patience, evaluations_since_best=4),
        write_finished(tmp_path / "hours", two_hours, seconds=7200.0),
        write_finished(tmp_path / "passes", ["training.epochs=2"], epoch=2),
        write_finished(tmp_path / "summed", summed),
        write_finished(tmp_path / "averaged", averaging, averaged=300),
    ]
    busy = write_finished(tmp_path / "busy")
    with locked(busy.path):
        assert run(["runs", str(tmp_path), "--clean"]) == 1
    said = capsys.readouterr()
    assert said.out.count("7.0 MB freed") == len(done)
    for training, why in (
        (stopped, f"got one that stopped before its limit; resume with: {stopped.resume_command};"),
        (stopped, f"delete {stopped.checkpoints} and {stopped.evaluated}"),
        (damaged, "got one that stopped before its limit"),
        (halfway, "got one that stopped before its limit"),
        (unscored, "got one that stopped before its limit"),
        (unaveraged, "got one that stopped before its limit"),
        (older, f"{older}: expected a configuration that this version reads"),
        (young, "that has not evaluated it yet"),
        (busy, "expected to be the only process that writes it, got another one"),
    ):
        assert f"{training}: expected" in said.err and why in said.err
        assert training.checkpoints.exists() and len(training.evaluated_weights()) == 2
    assert f"{elsewhere.checkpoints}: refused" in said.err
    assert (tmp_path / "checkpoints" / "batch-300.keras").exists()
    assert not any(training.checkpoints.exists() for training in done)


def test_a_model_that_was_not_trained_here_has_no_updates(tmp_path, capsys):
    """Of Translator.save, or of rnnsearch average."""
    saved = Run(tmp_path / "saved")
    write_training(saved.path, [], [])
    saved.metrics.unlink()
    saved.best_weights.parent.mkdir()
    saved.best_weights.touch()
    assert listed(capsys, tmp_path)[1][2:5] == ["–", "–", "–"]


def test_none_is_an_error_in_words(tmp_path, capsys):
    assert run(["runs", str(tmp_path)]) == 1
    assert "found none" in capsys.readouterr().err


def test_a_curve_falls_as_the_loss_does():
    falling = curve([2.0**-k for k in range(100)])
    assert len(falling) == CURVE_WIDTH and (falling[0], falling[-1]) == (BARS[-1], BARS[0])
    assert list(falling) == sorted(falling, reverse=True)
    assert curve([3.0]) == curve([3.0, 3.0])[0] == BARS[0] and curve([]) == ""
