"""The fit driver: resuming, best weights, early stopping, averaging, limits, logs."""

import json
import shutil
import types
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_text, load_texts
from rnnsearch_tf.training import checkpoint, development, fit
from rnnsearch_tf.training.checkpoint import load_checkpoint
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.translation import Translator
from test_nothing_lost import arrays

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


def load_state(path):
    """(compiled model, counters) of the checkpoint of a RUN."""
    run = Run(path)
    settings = load_config(run.config)
    model = build_model(settings, *(t.vocabulary.size for t in load_texts(run, settings)))
    compile_model(model, settings)
    return model, load_checkpoint(run, model)


def weights(run):
    model, state = load_state(run)
    return [w.numpy() for w in model.trainable_variables], state


def records(run, kind):
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


@pytest.mark.slow
def test_larger_batches_go_on_after_as_many_pairs(tmp_path):
    """Stopped after 4 batches of 10 pairs, it resumes after 2 batches of 20, 3 to an epoch."""
    plain = "data.variants=0"
    train(language_model(plain, "training.maximum_updates=4"), tmp_path)
    more = language_model(plain, "data.batch_size=20", "training.maximum_updates=9")
    train(more, tmp_path, resume=True)
    state = load_state(tmp_path)[1]
    assert (state.batches, state.epoch, state.batches_of_epoch) == (9, 2, 1)


@pytest.fixture
def scripted(monkeypatch):
    """Development losses of a language model as a script, and the weights that were there each
    time.
    """

    def use(losses):
        seen = []
        losses = iter(losses)

        def loss(self):
            seen.append([w.numpy() for w in self.model.trainable_variables])
            return next(losses)

        monkeypatch.setattr(development.Development, "_loss", loss)
        return seen

    return use


def is_best(run, values):
    """Whether RUN/best has these weights."""
    best = arrays(Run(run).best_weights).values()
    return any(np.array_equal(values[0], array) for array in best)


def test_best_weights_are_kept_and_patience_stops(tmp_path, scripted):
    """An equal score is no better one: the weights that had it first stay, and patience ends."""
    seen = scripted([3.0, 1.0, 2.0, 1.0, 0.1])
    options = ["training.evaluate_every=2", "training.patience=2", "data.batch_size=5"]
    summary = train(language_model(*options, "training.epochs=9"), tmp_path)
    assert summary["best_loss"] == 1.0
    assert [record["loss"] for record in records(tmp_path, "development")] == [3, 1, 2, 1]
    assert is_best(tmp_path, seen[1]) and not is_best(tmp_path, seen[3])


def test_what_a_better_score_is():
    is_better = development.is_better
    assert is_better(2.0, None, "loss") and is_better(2.0, 3.0, "loss")
    assert is_better(3.0, 2.0, "bleu") and not is_better(2.0, 3.0, "bleu")
    assert is_better(0.0, 0.0, "bleu")  # lines below four words: the later weights
    for metric in ("bleu", "loss"):
        assert not is_better(3.0, 3.0, metric)
        assert not is_better(np.nan, None, metric) and not is_better(np.nan, 3.0, metric)


def test_the_average_is_kept_where_it_scores_better(tmp_path, scripted):
    """The last two evaluations are those after 4 and after 5 updates."""
    options = ("training.evaluate_every=2", "training.maximum_updates=5", "training.average=2")
    for score, kept_is_average in ((1.0, True), (3.0, False)):
        run = tmp_path / str(score)
        seen = scripted([9.0, 8.0, 2.0, score])
        assert train(language_model(*options), run)["best_loss"] == min(2.0, score)
        mean = [(one.astype(np.float64) + other) / 2 for one, other in zip(seen[1], seen[2])]
        for value, expected in zip(seen[3], mean):
            np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-8)
        assert is_best(run, seen[3] if kept_is_average else seen[2])
        # the weights that a resumed training starts from
        assert all(np.array_equal(one, other) for one, other in zip(weights(run)[0], seen[2]))
    # a finished training is not evaluated again
    seen = scripted([])
    assert train(language_model(*options), run, resume=True)["best_loss"] == 2.0 and not seen


@pytest.mark.slow
def test_the_best_loss_of_a_language_model_is_its_own(tmp_path):
    """Development loss of the best weights, from Keras's evaluate of the loaded model; it stops by
    it too.
    """
    options = ["training.evaluate_every=1", "training.epochs=60", "training.learning_rate=0.3"]
    settings = language_model(*options, "training.patience=2")
    summary = train(settings, tmp_path)
    losses = [record["loss"] for record in records(tmp_path, "development")]
    assert summary["best_loss"] == pytest.approx(min(losses), abs=1e-6)
    assert losses.index(min(losses)) == len(losses) - 3 and summary["best_bleu"] is None
    texts = load_texts(Run(tmp_path), settings)
    model = build_model(settings, *(text.vocabulary.size for text in texts))
    Run(tmp_path).read_weights(model)
    compile_model(model, settings)
    pairs = list(open_corpus(settings, "development"))[:3]
    ids = [text.encode(tf.constant(side)).to_tensor() for text, side in zip(texts, zip(*pairs))]
    dataset = tf.data.Dataset.from_tensors(dict(zip(("source_ids", "target_ids"), ids)))
    found = model.evaluate(dataset, verbose=0, return_dict=True)["loss"]
    assert found == pytest.approx(summary["best_loss"], rel=1e-5)


@pytest.mark.slow
def test_metrics_and_the_model_card(tmp_path):
    summary = train(config("training.epochs=2"), tmp_path)
    epochs = records(tmp_path, "epoch")
    assert [record["epoch"] for record in epochs] == [1, 2]
    for record in epochs:
        assert record["perplexity"] == pytest.approx(np.exp(record["loss"]), rel=1e-4)
        assert record["target_tokens_per_second"] >= 0 and record["gradient_norm"] > 0
    assert [record["bleu"] >= 0 for record in records(tmp_path, "development")] == [True, True]
    card = (tmp_path / "model_card.md").read_text(encoding="utf-8")
    model, state = load_state(tmp_path)
    assert f"{sum(w.numpy().size for w in model.trainable_variables):,} parameters" in card
    assert summary["best_bleu"] == pytest.approx(state.best)
    assert f"BLEU {state.best:.2f} (sacreBLEU 13a, " in card
    assert f"{state.batches:,} batches" in card and "en to fr" in card


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A RUN after one update, with all that a training leaves; not to be changed."""
    folder = tmp_path_factory.mktemp("short") / "run"
    train(language_model("training.maximum_updates=1"), folder)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        "training.optimizer=sgd",
        "training.evaluate_sentences=4",
        "model.hidden_size=9",
        "source.lowercase=true",
        "data.maximum_length=9",
    ],
)
def test_what_the_saved_training_has_cannot_change(short, change):
    saved = Run(short).config.read_bytes()
    with pytest.raises(UsageError, match=f"--resume expects {change.partition('=')[0]}="):
        train(language_model(change), short, resume=True)
    assert Run(short).config.read_bytes() == saved


def test_a_language_model_only_scores(short):
    translator = Translator.load(short)
    assert translator.score(["a", "b"], ["la porte", "la porte"])[0] < 0
    with pytest.raises(UsageError, match="translate: expected a translation model"):
        translator.translate(["a"])
    with pytest.raises(UsageError, match="sample: expected a translation model"):
        translator.sample(["a"], 1)
    with pytest.raises(UsageError, match="export: expected a translation model"):
        export_model(short, "nowhere")


def test_a_limit_that_is_reached_already_is_named(short, tmp_path, capsys):
    run = shutil.copytree(short, tmp_path / "run")
    train(language_model("training.maximum_updates=1"), run, resume=True)
    said = capsys.readouterr().err
    assert "nothing left to train: training.maximum_updates=1 is reached" in said


def test_a_checkpoint_that_is_damaged_or_missing(short, tmp_path):
    run = Run(shutil.copytree(short, tmp_path / "run"))
    content = run.checkpoint.read_bytes()
    with zipfile.ZipFile(run.checkpoint) as archive:
        at = archive.getinfo("model.weights.h5").header_offset + 5000
    for damaged in (b"", content[:-100], content[:at] + b"?" + content[at + 1 :]):
        run.checkpoint.write_bytes(damaged)
        with pytest.raises(UserError, match="last.keras: expected a saved training .* damaged"):
            train(language_model("training.maximum_updates=2"), run, resume=True)
    run.checkpoint.write_bytes(content)
    shutil.rmtree(run.ids)  # another text could be in the files now
    with pytest.raises(UserError, match="ids: expected the ids of a training text, got none"):
        train(language_model("training.maximum_updates=2"), run, resume=True)
    run.checkpoint.unlink()
    with pytest.raises(UserError, match="expected a saved training to resume, found none"):
        train(language_model("training.maximum_updates=2"), run, resume=True)


def test_a_checkpoint_is_written_every_so_many_minutes(tmp_path, monkeypatch):
    """The clock advances by 1000 seconds each time that it is read: 50 minutes have passed at
    every third batch.
    """
    clock = iter(range(0, 10**9, 1000))
    saved = []
    monkeypatch.setattr(
        checkpoint, "save_checkpoint", lambda run, model, state: saved.append(state.batches)
    )
    times = types.SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(checkpoint, "time", times)
    options = ["training.checkpoint_every_minutes=50", "training.maximum_updates=8"]
    train(language_model(*options), tmp_path)
    # beside those of the beginning and the end
    assert [batches for batches in saved if 0 < batches < 8] == [2, 5]


def test_the_best_score_is_saved_with_the_best_weights(tmp_path, scripted):
    """A training that is killed in its third evaluation resumes with the score of its first."""

    def losses():
        yield from (1.0, 2.0)
        raise KeyboardInterrupt

    scripted(losses())
    settings = language_model("training.evaluate_every=1", "training.maximum_updates=9")
    with pytest.raises(KeyboardInterrupt):
        train(settings, tmp_path)
    state = load_state(tmp_path)[1]
    assert state.batches == 2 and state.best == 1.0


def test_an_average_is_of_evaluations_that_there_are(tmp_path):
    """It is asked for when the training has ended; then it goes on from a checkpoint after which a
    killed training had evaluated once more.
    """
    run = Run(tmp_path)
    limit = "training.maximum_updates="
    train(language_model(f"{limit}2"), run)
    average = ["training.average=2", "training.evaluate_every=1"]
    train(language_model(f"{limit}2", *average), run, resume=True)
    assert all(np.isfinite(record["loss"]) for record in records(tmp_path, "development"))
    run.evaluated.mkdir(exist_ok=True)
    run.weights_after(5).touch()
    train(language_model(f"{limit}4", *average), run, resume=True)
    assert run.evaluated_weights() == [run.weights_after(3), run.weights_after(4)]


def test_a_gradient_that_is_not_finite_stops_with_a_message(tmp_path):
    steep = ["training.optimizer=sgd", "training.learning_rate=1e30"]
    with pytest.raises(UserError, match="training: expected a finite gradient.*learning_rate"):
        train(language_model(*steep, "training.global_clipnorm=null"), tmp_path)
    model, _ = load_state(tmp_path)  # the last checkpoint is of a batch before it
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_a_training_that_was_killed_at_its_beginning_may_begin_again(tmp_path, monkeypatch):
    """With other text options too; nothing of the first is left."""

    def stop(*_):
        raise KeyboardInterrupt

    subwords = ["target.tokenization=sentencepiece", "target.vocabulary_size=90"]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fit, "training_ids", stop)
        train(language_model(*subwords), tmp_path)
    Run(tmp_path).evaluated.mkdir()  # of a training whose checkpoint was deleted
    (Run(tmp_path).evaluated / "batch-00000009.weights.h5").touch()
    assert Run(tmp_path).subword_model("target").exists()
    settings = language_model("target.vocabulary_size=40", "training.maximum_updates=1")
    train(settings, tmp_path)
    assert load_text(tmp_path, "target", settings.target).vocabulary.size == 40
    assert not Run(tmp_path).subword_model("target").exists()
    assert not Run(tmp_path).evaluated_weights()
