"""A training that begins from a trained model: its weights, new words, what is new, what is kept,
what is refused.
"""

import collections
import itertools
import shutil

import numpy as np
import pytest
import tensorflow as tf
from test_driver import LANGUAGE_MODEL, TINY, load_state, records
from tiny_run import write_run

from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_text
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.training.warm_start import check_continues, start_from
from rnnsearch_tf.translation.loading import load_run

NEW = [
    (f"The {name} is white .", f"{word} est blanc .")
    for name, word in (("zebra", "Zorro"), ("yak", "Yakari"), ("zebra", "Zorro"))
]
SPACES = ["source.tokenization=space", "target.tokenization=space"]

VARIANTS = {
    "rnnsearch": [],
    "tied": ["model.tie_target_embeddings=true", "model.scale_embeddings=true"],
    "tied output_rank": [
        "model.output_rank=8",
        "model.maxout_size=5",
        "model.tie_target_embeddings=true",
    ],
    "without biases": ["model.biases=none"],
    "cslm": LANGUAGE_MODEL,
}


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """A RUN of the phrasebook with random weights, of the smallest system: traced in no time."""
    return write_run(
        tmp_path_factory.mktemp("trained") / "cslm", [*TINY, *LANGUAGE_MODEL], unknown_words=None
    )


@pytest.fixture
def new_text(tmp_path):
    """Settings that name a new text with two words on each side that the phrasebook lacks."""
    return [*name_files(tmp_path, NEW * 10), "data.held_out=0"]


def name_files(folder, pairs):
    for name, lines in zip(("new.en", "new.fr"), zip(*pairs)):
        (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return [
        "data.corpus=files",
        f"data.train_source={folder}/new.en",
        f"data.train_target={folder}/new.fr",
    ]


def same(some, others):
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def test_the_best_weights_and_the_texts_are_those_of_the_run(language_model):
    path = language_model / "config.yaml"
    settings = load_config(path, ["training.seed=99", "model.hidden_dropout=0.5"])
    started_texts, started_model, _ = start_from(language_model, settings, 0, open_corpus(settings))
    model, *texts, _ = load_run(language_model)
    assert same(
        [w.numpy() for w in started_model.trainable_variables],
        [w.numpy() for w in model.trainable_variables],
    )
    assert all(one.same_as(other) for one, other in zip(started_texts, texts))
    assert started_model.config.hidden_dropout == 0.5
    for change in ("model.hidden_size=6", "source.tokenization=space"):
        name = change.partition("=")[0]
        with pytest.raises(UsageError, match=f"{name}: expected .* as in"):
            check_continues(load_config(path, [change]), settings, language_model)


@pytest.mark.parametrize("variant", VARIANTS)
def test_new_words_come_behind_the_old_and_change_nothing_for_them(tmp_path, new_text, variant):
    run = write_run(
        tmp_path / "run",
        [*SPACES, *VARIANTS[variant], "training.precision=float64"],
        unknown_words=None,
    )
    settings = load_config(run / "config.yaml", overrides=new_text)
    old, *old_texts, _ = load_run(run)
    keras.utils.set_random_seed(7)
    texts, model, _ = start_from(run, settings, 3, open_corpus(settings))
    for side, text, before in zip((0, 1), texts, old_texts):
        # spaces are the tokenization
        counts = collections.Counter(
            itertools.chain.from_iterable(pair[side].split() for pair in NEW)
        )
        expected = sorted(
            set(counts) - set(before.vocabulary.tokens), key=lambda word: (-counts[word], word)
        )[:3]
        assert text.vocabulary.tokens == [*before.vocabulary.tokens, *expected]
    sizes = [text.vocabulary.size for text in texts]
    ids = [
        text.encode(tf.constant(lines)).to_tensor()
        for text, lines in zip(old_texts, phrasebook(10, "train"))
    ]
    inputs = dict(zip(("source_ids", "target_ids"), ids))
    before = old(inputs).numpy()
    after = model(inputs).numpy()
    np.testing.assert_allclose(after[..., : before.shape[-1]], before, rtol=1e-12, atol=1e-12)

    keras.utils.set_random_seed(7)
    load_run(run)  # draws weights first
    fresh = build_model(settings, *sizes)
    kinds = set()
    for known, drawn, weight in zip(
        old.trainable_variables, fresh.trainable_variables, model.trainable_variables, strict=True
    ):
        known, drawn, weight, name = known.numpy(), drawn.numpy(), weight.numpy(), weight.name
        axis = [k for k in range(known.ndim) if known.shape[k] != weight.shape[k]]
        if not axis:
            assert np.array_equal(known, weight)
            continue
        first, new = np.split(weight, [known.shape[axis[0]]], axis=axis[0])
        assert np.array_equal(first, known)
        kinds.add(name)
        if name == "b_softmax":
            np.testing.assert_allclose(new, known[-(len(known) // 10) :].mean(), rtol=1e-12)
        else:
            assert (
                np.array_equal(new, np.split(drawn, [known.shape[axis[0]]], axis=axis[0])[1])
                and new.std() > 0
            )
    tied = "tied" in variant
    biased = variant != "without biases"
    matrix = set() if tied else {model.output_layer.symbol}
    assert kinds == {"E"} | matrix | ({"b_softmax"} if biased else set())


def test_new_words_of_the_new_text_alone(tmp_path, language_model, new_text):
    """What is mixed in has words that the vocabulary lacks too."""
    old = tmp_path / "old"
    old.mkdir()
    files = name_files(old, [("The unseen door .", "La porte inconnue .")] * 40)
    run = shutil.copytree(language_model, tmp_path / "run")
    path = run / "config.yaml"
    save_config(load_config(path, overrides=["data.corpus=files", *files]), path)
    two_files = [
        f"data.train_{side}=[{tmp_path}/new.{language}, {old}/new.{language}]"
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    settings = load_config(path, overrides=two_files)
    texts, *_ = start_from(run, settings, 10, open_corpus(settings))
    added = [
        text.vocabulary.tokens[load_run(run)[1 + side].vocabulary.size :]
        for side, text in enumerate(texts)
    ]
    assert (
        "zebra" in added[0]
        and "Zorro" in added[1]
        and "unseen" not in added[0]
        and "inconnue" not in added[1]
    )


def test_everything_but_the_weights_begins_anew_and_stands_by_itself(
    tmp_path, language_model, new_text
):
    """Stopped and resumed it is the uninterrupted one, without the RUN it began from; and others
    begin from it.
    """
    run = shutil.copytree(language_model, tmp_path / "general")

    def limit(number):
        return load_config(
            run / "config.yaml", overrides=[*new_text, f"training.maximum_updates={number}"]
        )

    for name, number in (("whole", 5), ("parts", 2)):
        assert (
            train(limit(number), tmp_path / name, start_from=run, new_words=4)["batches"] == number
        )
    longer = limit(5)
    shutil.rmtree(run)
    assert str(run) not in (tmp_path / "parts" / "config.yaml").read_text(encoding="utf-8")
    assert train(
        longer,
        tmp_path / "parts",
        resume=True,
    )
    (whole, _), (parts, state) = (load_state(tmp_path / name) for name in ("whole", "parts"))
    assert int(parts.optimizer.iterations.numpy()) == state.batches == 5
    for one, other in zip(whole.trainable_variables, parts.trainable_variables):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6, atol=1e-7)
    card = (tmp_path / "parts" / "model_card.md").read_text(encoding="utf-8")
    assert (
        f"- began from: the best weights of `{run}`, with 2 new source and 3 new target words\n"
        in card
    )
    assert str(tmp_path / "new.en") in card

    again = load_config(
        tmp_path / "parts" / "config.yaml", overrides=["training.maximum_updates=1"]
    )
    train(again, tmp_path / "second", start_from=tmp_path / "parts")
    assert (
        load_state(tmp_path / "second")[1].began_from
        == f"the best weights of `{tmp_path / 'parts'}`"
    )
    assert "zebra" in load_run(tmp_path / "second")[1].vocabulary.tokens


def test_the_new_text_may_be_pairs_in_python(tmp_path, language_model):
    """Also an iterator, which can be read once."""
    pairs = [*NEW * 9, *zip(*phrasebook(40, "train"))]
    no_text = ["data.corpus=files", "data.held_out=9", "training.maximum_updates=1"]
    settings = load_config(language_model / "config.yaml", overrides=no_text)
    run = Run(tmp_path / "run")
    train(settings, run, start_from=language_model, new_words=1, pairs=iter(pairs))
    assert records(run.path, "development")[0]["batches"] == 0  # the start is scored
    added = [
        set(load_text(folder, "source", settings.source).vocabulary.tokens)
        for folder in (language_model, run)
    ]
    assert added[1] - added[0] == {"zebra"}
    assert "began from: the best weights of" in run.model_card.read_text(encoding="utf-8")
