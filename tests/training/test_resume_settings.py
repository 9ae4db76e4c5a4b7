"""A training is not resumed with another value of what its model and its optimizer already have."""

import pytest

from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.training.fit import train

REFUSED = [  # (what the RUN has besides, what the resumed training has otherwise)
    ("", "training.optimizer=sgd"),
    ("", "training.global_clipnorm=5"),
    ("", "training.loss_reduction=token_mean"),
    ("", "training.label_smoothing=0.1"),
    ("", "training.non_finite_gradient=decay_weights"),
    ("", "training.precision=mixed_bfloat16"),
    ("", "training.seed=2"),
    ("", "model.hidden_size=9"),
    ("", "model.embedding_dropout=0.1"),
    ("model.system=stacked", "model.layers=2"),
    ("", "source.lowercase=true"),
    ("", "target.vocabulary_size=99"),
]

TAKEN = [
    "training.learning_rate=0.5",
    "training.schedule=halving",
    "training.warmup_updates=3",
    "training.epochs=9",
    "training.maximum_updates=7",
    "training.maximum_minutes=7",
    "training.evaluate_every=3",
    "training.evaluate_sentences=3",
    "training.average=2",
    "training.checkpoint_every_minutes=3",
    "training.patience=3",
    "data.batch_size=7",
    "data.batching=unsorted",
    "search.beam_size=3",
]


def resume(folder, before, change):
    base = ["data.corpus=phrasebook", *before.split()]
    save_config(load_config(overrides=base), folder / "config.yaml")
    train(load_config(overrides=[*base, change]), folder, resume=True)


def test_what_the_saved_model_has_cannot_change(tmp_path):
    for before, change in REFUSED:
        with pytest.raises(
            UsageError,
            match=f"--resume expects {change.partition('=')[0]}=.*, with which the training began",
        ):
            resume(tmp_path, before, change)


def test_the_rest_can(tmp_path):
    for change in TAKEN:
        with pytest.raises(
            UserError, match="expected a saved training to resume, found none|vocabulary"
        ):
            resume(tmp_path, "", change)


def test_a_resume_that_fails_changes_nothing(tmp_path):
    """The new text has a line less on one side: the settings of the RUN stay as they were."""
    for name, lines in (("a.en", 3), ("a.fr", 3), ("b.en", 3), ("b.fr", 2)):
        (tmp_path / name).write_text("a b\n" * lines, encoding="utf-8")
    before = [f"data.folder={tmp_path}", "data.train_source=a.en", "data.train_target=a.fr"]
    run = tmp_path / "run"
    system = ["model.system=cslm", "model.hidden_size=3", "training.maximum_updates=1"]
    train(load_config(overrides=[*before, *system]), run)
    saved = (run / "config.yaml").read_bytes()
    changed = load_config(run / "config.yaml", overrides=["data.train_target=b.fr"])
    with pytest.raises(UserError, match="expected as many lines"):
        train(changed, run, resume=True)
    assert (run / "config.yaml").read_bytes() == saved
