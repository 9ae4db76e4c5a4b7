"""A resumed training whose evaluations have other settings compares scores of one kind."""

import json
import types

import pytest
from test_driver import config

from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.evaluation.bleu import bleu_of_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.translation import Translator

EVERY = "training.evaluate_every=4", "training.average=0"


def best(run):
    return json.loads(Run(run).state.read_text(encoding="utf-8"))["best_bleu"]


def lines_of(capsys):
    return [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("development BLEU")
    ]


def judged_by(*changes, sentences=(["a"], ["b"]), reads_source=True):
    model = types.SimpleNamespace(reads_source=reads_source)
    development = types.SimpleNamespace(config=config(*changes), sentences=sentences, model=model)
    return Development._judged_by(development)


def test_what_a_score_depends_on():
    """The options of the search and the sentences, wherever they are from."""
    before = judged_by()
    assert judged_by("search.length_penalty=0.5") != before
    for same in ("search.beam_size=3", "search.batch_size=3", "data.phrasebook_size=70"):
        assert judged_by(same) == before
    assert judged_by(sentences=(["a"], ["c"])) != before
    # a language model searches nothing
    loss = judged_by(reads_source=False)
    assert judged_by("search.length_penalty=0.5", reads_source=False) == loss


@pytest.mark.parametrize("patience, left", [(5, 5), (6, 0)])
def test_a_training_that_patience_has_ended_stays_so(patience, left):
    """With other sentences only its best weights are scored again, as the message says."""
    development = types.SimpleNamespace(
        state=TrainingState(evaluations_since_best=5),
        config=config(f"training.patience={patience}"),
        sentences=None,
    )
    Development._judge_best_again(development)
    assert development.state.evaluations_since_best == left


@pytest.mark.slow
def test_the_best_weights_are_scored_again_by_the_new_settings(tmp_path, capsys):
    """With other sentences; the score is that of a Translator of RUN/best."""
    run = tmp_path / "run"
    train(config(*EVERY, "training.maximum_updates=4", "training.evaluate_sentences=5"), run)
    weights = Run(run).best_weights.read_bytes()
    changed = config(*EVERY, "training.maximum_updates=4", "training.evaluate_sentences=20")
    pairs = list(open_corpus(changed, "development"))[:20]
    sources, references = zip(*pairs)
    texts = [each.text for each in Translator.load(run).translate(list(sources), beam_size=1)]
    expected = bleu_of_model(texts, references, changed.target).score
    capsys.readouterr()
    train(changed, run, resume=True)
    [line] = lines_of(capsys)
    assert "of the best weights so far, as evaluations have other settings or sentences now" in line
    assert best(run) == pytest.approx(expected)
    assert Run(run).best_weights.read_bytes() == weights
    # once is enough
    train(changed, run, resume=True)
    assert lines_of(capsys) == []


@pytest.mark.slow
def test_the_training_goes_on_with_its_own_weights(tmp_path):
    """Scoring the best weights between does not change what is learned after them."""
    found = {}
    for name, change in (("as before", ()), ("changed", ("training.evaluate_sentences=7",))):
        run = tmp_path / name.replace(" ", "-")
        train(config(*EVERY, "training.maximum_updates=6"), run)
        longer = config(*EVERY, "training.maximum_updates=8", *change)
        train(longer, run, resume=True)
        lines = Run(run).metrics.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        found[name] = (
            [(each["batches"], each["loss"]) for each in records if each["kind"] == "epoch"],
            json.loads(Run(run).state.read_text(encoding="utf-8"))["means"],
        )
    assert found["as before"] == found["changed"]
