"""The fit driver: resuming, best weights, early stopping, limits, logs."""

import dataclasses
import itertools
import json
import re
import types

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.batches import scoring_batches
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_text
from rnnsearch_tf.training import development, fit
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.training.callbacks import Clock, MetricsLog
from rnnsearch_tf.training.checkpoint import TrainingState, load_state
from rnnsearch_tf.translation import Translator

TINY = [
    "model.embedding_size=6",
    "model.hidden_size=7",
    "model.alignment_size=5",
    "model.maxout_size=4",
    "model.output_rank=null",
    "model.initialization=variance_preserving",
    "model.embedding_dropout=0.2",
    "model.hidden_dropout=0.2",
    "model.readout_dropout=0.2",
    "data.corpus=phrasebook",
    "data.phrasebook_size=60",
    "data.batch_size=10",
    "data.batching=bucketed",
    "training.optimizer=adam",
    "training.learning_rate=0.01",
    "training.evaluate_sentences=3",
    "training.loss_reduction=token_mean",
    "search.maximum_length_ratio=1.0",
]


LANGUAGE_MODEL = [
    "model.system=cslm",
    "model.alignment_size=1000",
    "model.maxout_size=500",
    "model.output_rank=620",
    "model.readout_dropout=0",
    "model.second_hidden_size=6",
]


def config(*more):
    return load_config(overrides=[*TINY, *more])


def language_model(*more):
    """The same of the smallest system, for what is the same in all: its graph is traced in no time,
    and it translates nothing.
    """
    return config(*LANGUAGE_MODEL, *more)


def weights(run):
    model, state = load_state(run)
    return [w.numpy() for w in model.trainable_variables], state


def records(run, kind):
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


@pytest.mark.parametrize("system", ["cslm", pytest.param("rnnsearch", marks=pytest.mark.slow)])
def test_a_resumed_training_is_the_uninterrupted_one(tmp_path, untranslated, system):
    settings = {"cslm": language_model, "rnnsearch": config}[system]
    train(settings("training.maximum_updates=17"), tmp_path / "whole")
    # in the middle of an epoch, dropout on
    train(settings("training.maximum_updates=10"), tmp_path / "parts")
    train(settings("training.maximum_updates=17"), tmp_path / "parts", resume=True)
    (whole, state), (parts, resumed) = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert (state.batches, state.epoch, state.batches_of_epoch) == (
        resumed.batches,
        resumed.epoch,
        resumed.batches_of_epoch,
    )
    assert state.batches == 17
    for one, other in zip(whole, parts):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_a_finished_training_resumes_to_nothing(tmp_path):
    train(language_model("training.epochs=1"), tmp_path)
    before, state = weights(tmp_path)
    summary = train(language_model("training.epochs=1"), tmp_path, resume=True)
    after, _ = weights(tmp_path)
    assert summary["batches"] == state.batches
    assert all(np.array_equal(one, other) for one, other in zip(before, after))


@pytest.fixture
def scripted_bleu(monkeypatch, untranslated):
    """Development BLEU as a script, without translations, and the weights that were there each
    time.
    """

    def use(scores):
        seen = []
        scores = iter(scores)

        class Spy(development.Development):
            def score_weights(self, which):
                seen.append([w.numpy() for w in self.model.trainable_variables])
                return super().score_weights(which)

        monkeypatch.setattr("rnnsearch_tf.training.fit.Development", Spy)
        monkeypatch.setattr(
            "rnnsearch_tf.evaluation.bleu.bleu",
            lambda *_: types.SimpleNamespace(score=next(scores)),
        )
        return seen

    return use


def test_best_weights_are_kept_and_patience_stops(tmp_path, scripted_bleu):
    """An equal score is no better one: the weights that had it first stay, and patience ends."""
    seen = scripted_bleu([10.0, 30.0, 20.0, 30.0, 99.0])
    within_an_epoch = (  # of 12 batches or more; at its end patience is looked at once more
        "data.batch_size=5"
    )
    summary = train(
        config(
            "training.evaluate_every=2", "training.patience=2", "training.epochs=9", within_an_epoch
        ),
        tmp_path,
    )
    assert summary["best_bleu"] == 30.0
    assert [record["bleu"] for record in records(tmp_path, "development")] == [
        10.0,
        30.0,
        20.0,
        30.0,
    ]
    kept = _arrays(tmp_path / "best" / "model.weights.h5")
    assert any(np.array_equal(seen[1][0], array) for array in kept)
    assert not any(np.array_equal(seen[3][0], array) for array in kept)


def test_an_equal_loss_is_no_better_one(tmp_path):
    """Weights that do not move have one loss; a language model is judged by its loss."""
    still = ("training.optimizer=sgd", "training.learning_rate=1e-30", "training.evaluate_every=1")
    train(language_model(*still, "training.patience=2", "training.epochs=9"), tmp_path)
    losses = [record["loss"] for record in records(tmp_path, "development")]
    assert len(losses) == 3 and len(set(losses)) == 1


@pytest.mark.slow
def test_the_last_weights_are_evaluated(tmp_path, scripted_bleu):
    seen = scripted_bleu([10.0, 20.0])
    summary = train(config("training.evaluate_every=4", "training.maximum_updates=6"), tmp_path)
    assert summary["best_bleu"] == 20.0
    assert any(
        np.array_equal(seen[1][0], array)
        for array in _arrays(tmp_path / "best" / "model.weights.h5")
    )


@pytest.mark.slow
def test_the_average_is_kept_where_it_scores_better(tmp_path, scripted_bleu):
    """The last two evaluations are those after 4 and after 6 updates."""
    options = ("training.evaluate_every=2", "training.maximum_updates=6", "training.average=2")
    for score, kept_is_average in ((25.0, True), (15.0, False)):
        run = tmp_path / str(score)
        seen = scripted_bleu([10.0, 11.0, 20.0, score])
        assert train(config(*options), run)["best_bleu"] == max(20.0, score)
        mean = [(one.astype(np.float64) + other) / 2 for one, other in zip(seen[1], seen[2])]
        for value, expected in zip(seen[3], mean):
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-8)
        expected = seen[3] if kept_is_average else seen[2]
        assert any(
            np.array_equal(expected[0], array)
            for array in _arrays(run / "best" / "model.weights.h5")
        )
        # the weights that a resumed training starts from
        assert all(np.array_equal(one, other) for one, other in zip(weights(run)[0], seen[2]))


@pytest.mark.slow
def test_a_finished_training_is_not_evaluated_again(tmp_path, scripted_bleu):
    options = ("training.evaluate_every=2", "training.maximum_updates=5", "training.average=2")
    scripted_bleu([10.0, 11.0, 12.0, 13.0])
    first = train(config(*options), tmp_path)
    seen = scripted_bleu([])
    again = train(config(*options), tmp_path, resume=True)
    assert again["best_bleu"] == first["best_bleu"] == 13.0 and not seen
    assert load_state(tmp_path)[1].evaluations_since_best == 0


@pytest.mark.slow
def test_the_best_bleu_outlives_a_stop(tmp_path, scripted_bleu):
    """Evaluations after the stop are worse: RUN/best stays, and patience keeps counting."""
    seen = scripted_bleu([30.0])
    train(config("training.evaluate_every=2", "training.maximum_updates=2"), tmp_path)
    best = seen[0][0]
    scripted_bleu([20.0, 21.0, 22.0])
    options = ("training.evaluate_every=2", "training.maximum_updates=20", "training.patience=3")
    assert train(config(*options), tmp_path, resume=True)["best_bleu"] == 30.0
    assert load_state(tmp_path)[1].batches == 8
    assert any(
        np.array_equal(best, array) for array in _arrays(tmp_path / "best" / "model.weights.h5")
    )


@pytest.mark.slow
def test_the_sentences_and_the_beam_of_development_translations(tmp_path, monkeypatch):
    asked = []
    translate = Translator.translate

    def watched(self, texts, **options):
        asked.append((texts, options["beam_size"]))
        return translate(self, texts, **options)

    monkeypatch.setattr(Translator, "translate", watched)
    settings = config(
        "training.maximum_updates=1",
        "training.evaluate_sentences=3",
    )
    train(settings, tmp_path)
    development_text = [source for source, _ in open_corpus(settings, "development")]
    asked = [call for call in asked if call[0]]  # the options are first tried on no text
    assert asked == [(development_text[:3], 1)] and len(development_text) > 4


@pytest.mark.slow
def test_the_best_loss_of_a_language_model_is_its_own(tmp_path, untranslated):
    """Development loss of the best weights, from Keras's evaluate of the loaded model; it stops by
    it too.
    """
    options = [
        *LANGUAGE_MODEL,
        "training.evaluate_every=1",
        "training.epochs=60",
        "training.learning_rate=0.3",
        "training.patience=2",
    ]
    settings = config(*options)
    summary = train(settings, tmp_path)
    losses = [record["loss"] for record in records(tmp_path, "development")]
    assert summary["best_loss"] == pytest.approx(min(losses), abs=1e-6)
    assert losses.index(min(losses)) == len(losses) - 3
    assert summary["best_bleu"] is None
    texts = [load_text(tmp_path, side, getattr(settings, side)) for side in ("source", "target")]
    model = build_model(settings, *(text.vocabulary.size for text in texts))
    Run(tmp_path).read_weights(model)
    compile_model(model, settings)
    pairs = list(open_corpus(settings, "development"))[:3]
    [batch] = scoring_batches(*texts, list(zip(*pairs)), settings.data.batch_size)
    assert model.evaluate(tf.data.Dataset.from_tensors(batch), verbose=0, return_dict=True)[
        "loss"
    ] == pytest.approx(summary["best_loss"], rel=1e-5)


def _arrays(path):
    arrays = []
    with h5py.File(path) as file:
        file.visititems(
            lambda _, item: arrays.append(item[()]) if isinstance(item, h5py.Dataset) else None
        )
    return arrays


@pytest.mark.slow
def test_metrics_are_json_and_name_where_they_stand(tmp_path):
    train(config("training.epochs=2"), tmp_path)
    epochs = records(tmp_path, "epoch")
    assert [record["epoch"] for record in epochs] == [1, 2]
    for record in epochs:
        assert record["perplexity"] == pytest.approx(np.exp(record["loss"]), rel=1e-4)
        assert record["target_tokens_per_second"] >= 0 and record["gradient_norm"] > 0
    assert [record["bleu"] >= 0 for record in records(tmp_path, "development")] == [True, True]
    card = (tmp_path / "model_card.md").read_text(encoding="utf-8")
    model, state = load_state(tmp_path)
    assert f"{sum(w.numpy().size for w in model.trainable_variables):,} parameters" in card
    assert f"- best development BLEU: {state.best_bleu:.2f} (sacreBLEU 13a, " in card
    assert f"{state.batches:,} batches" in card and "en to fr" in card


def test_a_trained_folder_is_not_trained_over(tmp_path):
    train(language_model("training.maximum_updates=1"), tmp_path)
    with pytest.raises(UsageError, match="expected a folder without a training.*--resume"):
        train(language_model(), tmp_path)
    for change, expected in (
        ("model.hidden_size=9", "7"),
        ("training.global_clipnorm=2", "1.0"),
        ("target.lowercase=true", "False"),
    ):
        key, _, value = change.partition("=")
        with pytest.raises(
            UsageError, match=f"--resume expects {key}={expected}, with which the training began"
        ):
            train(language_model(change), tmp_path, resume=True)


def test_resuming_nothing_is_an_error(tmp_path):
    with pytest.raises(UserError, match="expected a saved training to resume, found none"):
        train(config(), tmp_path, resume=True)


@pytest.mark.slow
def test_a_gradient_that_is_not_finite_stops_with_a_message(tmp_path):
    message = r"training: expected a finite gradient.* in batch (\d+).*training.learning_rate"
    with pytest.raises(UserError, match=message) as error:
        train(
            language_model(
                "training.optimizer=sgd",
                "training.learning_rate=1e30",
                "training.global_clipnorm=null",
            ),
            tmp_path,
        )
    model, state = load_state(tmp_path)  # the last checkpoint is of a batch before it
    assert state.batches < int(re.search(message, str(error.value))[1])
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


@pytest.mark.slow
def test_every_epoch_has_its_own_order(tmp_path, monkeypatch):
    firsts = []
    original = TranslationModel.train_step

    def spy(self, data):
        tf.py_function(lambda ids: firsts.append(ids.numpy().tolist()), [data["target_ids"]], [])
        return original(self, data)

    monkeypatch.setattr(TranslationModel, "train_step", spy)
    train(language_model("training.epochs=3"), tmp_path)
    count = len(firsts) // 3
    epochs = [firsts[k * count : (k + 1) * count] for k in range(3)]
    for one, other in itertools.combinations(epochs, 2):
        assert one != other
        assert sorted(map(tuple, _sentences(one))) == sorted(map(tuple, _sentences(other)))


def _sentences(batches):
    return [[token for token in row if token] for batch in batches for row in batch]


@pytest.mark.slow
def test_a_model_is_scored_as_its_target_language_is_written(tmp_path, untranslated, monkeypatch):
    """Without case where it cannot write capitals; by characters where words have no spaces
    between.
    """
    asked = []

    def bleu(_translations, _references, *rules):
        asked.append(rules)
        return types.SimpleNamespace(score=1.0)

    monkeypatch.setattr("rnnsearch_tf.evaluation.bleu.bleu", bleu)
    settings = [
        "target.lowercase=true",
        "target.language=ja",
        "target.tokenization=sentencepiece",
        "target.vocabulary_size=90",
    ]
    train(config("training.maximum_updates=1", *settings), tmp_path)
    assert (
        asked == [("char", True)]
        and "(sacreBLEU char, without case" in (tmp_path / "model_card.md").read_text()
    )


@pytest.mark.slow
def test_a_training_that_learned_nothing_leaves_no_vocabulary_behind(tmp_path):
    """Its text options may have been the reason to begin again."""
    subwords = ["target.tokenization=sentencepiece", "target.vocabulary_size=90"]
    train(language_model(*subwords, "training.maximum_updates=1"), tmp_path)
    values = json.loads(Run(tmp_path).state.read_text())
    (tmp_path / "checkpoints" / "state.previous.json").unlink()
    Run(tmp_path).best_weights.unlink()
    # as one that was killed before its first checkpoint
    Run(tmp_path).state.write_text(json.dumps(values | {"batches": 0}))
    train(
        language_model(
            "target.vocabulary_size=40", "target.lowercase=true", "training.maximum_updates=1"
        ),
        tmp_path,
    )
    found = load_text(
        tmp_path, "target", load_config(tmp_path / "config.yaml").target
    ).vocabulary.tokens
    assert len(found) == 40 and all(token == token.lower() for token in found)
    assert not Run(tmp_path).subword_model("target").exists()


@pytest.mark.parametrize("name", ["model.weights.h5", "model.weights.int8.npz"])
def test_a_model_without_its_checkpoints_is_not_overwritten(tmp_path, name):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / name).write_bytes(b"weights")
    with pytest.raises(
        UsageError,
        match=f"found best/{name}; choose another --output",
    ):
        train(language_model(), tmp_path)
    assert not (tmp_path / "config.yaml").exists()


@pytest.mark.parametrize("name", ["config.yaml", "vocabulary.source.txt"])
def test_files_that_no_training_wrote_are_left_alone(tmp_path, name):
    path = tmp_path / name
    path.write_text("mine")
    with pytest.raises(UsageError, match=f"expected a folder .* found {name}; choose"):
        train(language_model(), tmp_path)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_a_killed_trainings_records_are_cut_also_before_its_second_checkpoint(tmp_path):
    """A new training appends to the records of an earlier one; what it wrote itself after its first
    checkpoint is written again.
    """
    path = tmp_path / "metrics.jsonl"
    path.write_text("earlier\n")
    state = TrainingState()
    MetricsLog(path, Clock(state))
    assert path.read_text() == "earlier\n"
    saved = TrainingState(**json.loads(json.dumps(dataclasses.asdict(state))))
    path.write_text("earlier\nkilled\n")
    MetricsLog(path, Clock(saved))
    assert path.read_text() == "earlier\n"
    first = TrainingState()
    MetricsLog(tmp_path / "new.jsonl", Clock(first))
    (tmp_path / "new.jsonl").write_text("killed\n")
    MetricsLog(tmp_path / "new.jsonl", Clock(TrainingState(**dataclasses.asdict(first))))
    assert (tmp_path / "new.jsonl").read_text() == ""


def test_a_training_that_was_killed_at_its_beginning_may_begin_again(tmp_path, monkeypatch):
    def save_and_stop(config, path):
        save_config(config, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fit, "save_config", save_and_stop)
        train(language_model(), tmp_path)
    train(language_model("training.maximum_updates=1"), tmp_path)


@pytest.mark.slow
def test_larger_batches_go_on_after_as_many_pairs(tmp_path):
    """Stopped after 4 batches of 10 pairs, it resumes after 2 batches of 20, 3 to an epoch."""
    train(language_model("data.batching=unsorted", "training.maximum_updates=4"), tmp_path)
    train(
        language_model(
            "data.batching=unsorted", "data.batch_size=20", "training.maximum_updates=9"
        ),
        tmp_path,
        resume=True,
    )
    state = load_state(tmp_path)[1]
    assert (state.batches, state.epoch, state.batches_of_epoch) == (9, 2, 1)
