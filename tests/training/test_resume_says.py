"""What a training that was stopped, or is resumed, says: where it stands and what to do next."""

import pytest
from test_driver import config, language_model

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import save_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.training.callbacks import Clock
from rnnsearch_tf.training.fit import train


@pytest.mark.slow
def test_stopped_before_the_first_evaluation(tmp_path, untranslated, monkeypatch, capsys):
    """The RUN has no weights to translate with; who stops and who tries are told what to do."""
    real = Clock.on_train_batch_end

    def stop(self, batch, logs=None):
        real(self, batch, logs)
        if self.state.batches == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "on_train_batch_end", stop)
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(config("training.epochs=2"), run)
    next_step = f"rnnsearch train --output {run} --resume"
    err = capsys.readouterr().err
    assert next_step in err and "not been evaluated yet" in err
    assert rnnsearch(["translate", "--model", str(run)]) == 1
    err = capsys.readouterr().err
    assert (
        "training has not evaluated the model yet" in err
        and next_step in err
        and err.count("\n") == 1
    )
    monkeypatch.undo()
    train(config("training.epochs=2"), run, resume=True)
    err = capsys.readouterr().err
    assert "resuming after batch 3, epoch 1 (3 batches of it)" in err
    assert rnnsearch(["translate", "--model", str(run), str(tmp_path / "missing")]) == 1
    # the model itself is fine now
    assert "missing: expected a text file, found none" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit, said, more",
    [
        ("training.epochs=1", "training.epochs=1", "training.epochs=2"),
        ("training.maximum_updates=4", "training.maximum_updates=4", "training.maximum_updates=5"),
        (
            "training.maximum_minutes=0.00001",
            "training.maximum_minutes=1e-05",
            "training.maximum_minutes=60",
        ),
    ],
)
def test_a_limit_that_is_reached_already_is_named(tmp_path, capsys, limit, said, more):
    train(language_model(limit), tmp_path)
    capsys.readouterr()
    train(language_model(limit), tmp_path, resume=True)
    err = capsys.readouterr().err
    assert (
        f"nothing left to train: {said} is reached" in err
        and "raise it, for example with --set " + said.split("=")[0] in err
    )
    train(language_model("training.maximum_updates=10", more), tmp_path, resume=True)
    assert "nothing left" not in capsys.readouterr().err


def test_a_training_that_was_killed_before_its_first_checkpoint_is_begun_again(tmp_path):
    save_config(language_model(), tmp_path / "config.yaml")
    with pytest.raises(
        UserError,
        match=(
            "state.json: expected a saved training to resume, found none; start it without --resume"
        ),
    ):
        train(language_model(), tmp_path, resume=True)
