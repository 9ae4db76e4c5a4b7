"""What a training that was stopped, or is resumed, says: where it stands and what to do next."""

import pytest
from test_driver import config, language_model

from rnnsearch_tf.cli import train as train_verb
from rnnsearch_tf.cli.main import parser_of
from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config, save_config
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


def test_a_configuration_beside_resume_changes_what_run_has(tmp_path):
    """As the help says: settings that differ from RUN's, not from the defaults."""
    begun = [
        "data.corpus=phrasebook",
        "data.batch_size=16",
        "search.beam_size=3",
        "training.patience=4",
    ]
    save_config(load_config(overrides=begun), tmp_path / "config.yaml")
    (tmp_path / "more.yaml").write_text("training: {epochs: 20}")
    arguments = parser_of("train").parse_args(
        [
            "--output",
            str(tmp_path),
            "--resume",
            "--config",
            str(tmp_path / "more.yaml"),
            "--set",
            "data.batch_size=8",
        ]
    )
    assert train_verb._configuration(arguments) == load_config(
        overrides=[*begun, "training.epochs=20", "data.batch_size=8"]
    )


def test_a_training_that_was_killed_before_its_first_checkpoint_is_begun_again(tmp_path):
    save_config(language_model(), tmp_path / "config.yaml")
    with pytest.raises(
        UserError,
        match=(
            "state.json: expected a saved training to resume, found none; start it without --resume"
        ),
    ):
        train(language_model(), tmp_path, resume=True)
