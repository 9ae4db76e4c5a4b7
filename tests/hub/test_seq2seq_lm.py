"""Translations of the models of keras-nlp: by this package's search, by samplers of keras-nlp, and
after fit on raw pairs.
"""

import contextlib

import keras_nlp
import numpy as np
import pytest
import tensorflow as tf

import rnnsearch_tf
from rnnsearch_tf.config import END_ID, PAD_ID, as_dictionary, load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub import (
    RNNSearchBackbone,
    RNNSearchSeq2SeqLM,
    RNNSearchSeq2SeqLMPreprocessor,
    RNNSearchTokenizer,
)
from rnnsearch_tf.extras.hub.seq2seq_lm import _texts

SHORT = ["My sister sells an old book.", "the red car", "", "été ☃", "I see a cat."]
"""Those that samplers of keras-nlp read whole, whose source has a fixed length."""

TEXTS = [
    "My sister sells an old book.",
    "the red car",
    "",
    "A much longer sentence, which is about nothing at all, is cut.",
    "été ☃",
]


def texts(translations):
    return [translation.text for translation in translations]


@contextlib.contextmanager
def sampling(model, sampler, graph=False, **search):
    """Inside, the model has this sampler, and other search options."""
    before = model.search
    model.search = before | search
    model.compile(sampler=sampler, run_eagerly=not graph)
    try:
        yield
    finally:
        model.search = before
        model.compile()


@pytest.fixture
def end_bias(model):
    """A function that sets the bias of the end symbol, and none of <unk>, for one test."""
    bias = model.backbone.system.output_layer.b_softmax
    before = np.array(bias)

    def change(value):
        changed = np.zeros_like(before)
        changed[END_ID] = value
        bias.assign(changed)

    yield change
    bias.assign(before)


def test_generate_is_translate_to_the_character(run, model):
    expected = texts(rnnsearch_tf.Translator.load(run).translate(TEXTS))
    assert isinstance(model, RNNSearchSeq2SeqLM)
    dataset = tf.data.Dataset.from_tensor_slices
    for inputs in (
        TEXTS,
        tf.constant(TEXTS),
        np.array(TEXTS),
        dataset(TEXTS),
        dataset(TEXTS).batch(2),
        {"encoder_text": TEXTS},
        dataset({"encoder_text": TEXTS, "decoder_text": [""] * len(TEXTS)}).batch(2),
    ):
        assert model.generate(inputs) == expected
    assert model.generate(TEXTS[0]) == expected[0]
    assert model.generate(TEXTS, strip_prompt=True, stop_token_ids=[END_ID]) == expected


SAMPLERS = {
    "greedy": lambda: "greedy",
    "top_k": lambda: keras_nlp.samplers.TopKSampler(k=1),
    "beam of one": lambda: keras_nlp.samplers.BeamSampler(num_beams=1),
}


@pytest.mark.parametrize("bias", [-50.0, 6.0])
def test_samplers_of_keras_nlp_agree_with_this_packages_search(model, end_bias, bias):
    """Those that draw nothing; at 6.0 some translations end before the limit, at -50.0 none."""
    end_bias(bias)
    with sampling(model, "rnnsearch", beam_size=1):
        expected = model.generate(SHORT, max_length=6)
    lengths = [len(text.split()) for text in expected if text]
    assert lengths == [5] * 4 if bias < 0 else min(lengths) < max(lengths) == 5
    for name, sampler in SAMPLERS.items():
        with sampling(model, sampler()):
            assert model.generate(SHORT, max_length=6) == expected, name
    with sampling(model, "greedy", batch_size=2):
        assert model.generate(tf.data.Dataset.from_tensor_slices(SHORT), max_length=6) == expected
        assert model.generate(SHORT[0], max_length=6) == expected[0]
        assert model.generate([]) == []


@pytest.mark.slow
def test_a_beam_that_never_ends_is_this_packages(model, end_bias):
    """Where no hypothesis ends, what keras-nlp does not do makes no difference: length
    normalization, and ends that stay.
    """
    end_bias(-50.0)
    expected = []
    lengths = model.translator.source_text.encode(TEXTS[:2]).row_lengths().numpy()
    for text, length in zip(TEXTS, lengths):
        limit = dict(beam_size=3, length_penalty=0.0, maximum_length_ratio=6 / length)
        with sampling(model, "rnnsearch", **limit):
            expected.append(model.generate(text))
    with sampling(model, keras_nlp.samplers.BeamSampler(num_beams=3), graph=True):
        assert model.generate(TEXTS[:2], max_length=7) == expected
    assert all(len(text.split()) == 6 for text in expected)


def best_continuation(model, source, words, steps, beams):
    """Ids of a beam search after given words, by the training graph alone: every hypothesis is
    computed anew at every step.
    """
    inputs = model.preprocessor.generate_preprocess([source] * beams)
    hypotheses = [(0.0, [END_ID, *words])]
    for _ in range(steps):
        ids = np.zeros((beams, 1 + len(words) + steps), np.int32)
        for row, (_, before) in enumerate(hypotheses):
            ids[row, : len(before)] = before
        length = len(hypotheses[0][1])
        logits = np.asarray(model(inputs | {"decoder_token_ids": tf.constant(ids)}), np.float64)[
            :, length - 1
        ]
        scores = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        scores[:, PAD_ID] = -np.inf
        more = [
            (score + scores[row, word], [*before, word])
            for row, (score, before) in enumerate(hypotheses)
            for word in range(scores.shape[1])
        ]
        hypotheses = sorted(more, reverse=True)[:beams]
    return hypotheses[0][1][1:]


@pytest.mark.parametrize("beams", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_first_words_are_gone_on_from(model, end_bias, beams):
    """With first words of which a beam of three finds another continuation than the greedy one."""
    end_bias(-50.0)
    tokenizer = model.preprocessor.tokenizer
    given = [
        (TEXTS[0], "la robe"),
        (TEXTS[0], "le un"),
        (TEXTS[1], "le pas"),
        (TEXTS[1], "la une"),
        (TEXTS[3], "robe pas"),
        ("the red car", "une la"),
        ("the red car", "une robe"),
    ]
    words = [[tokenizer.token_to_id(word) for word in prompt.split()] for _, prompt in given]
    inputs = {
        "encoder_text": [text for text, _ in given],
        "decoder_text": [prompt for _, prompt in given],
    }
    expected = [
        best_continuation(model, text, row, 3, beams) for (text, _), row in zip(given, words)
    ]
    decode = tokenizer.detokenize
    with sampling(model, keras_nlp.samplers.BeamSampler(num_beams=beams)):
        whole = model.generate(inputs, max_length=6)
        new = model.generate(inputs, max_length=6, strip_prompt=True)
    assert whole == [decode(ids).numpy().decode() for ids in expected]
    assert new == [decode(ids[2:]).numpy().decode() for ids in expected]
    if beams > 1:
        assert expected != [
            best_continuation(model, text, row, 3, 1) for (text, _), row in zip(given, words)
        ]


def test_first_words_of_different_lengths_stay(model, end_bias):
    end_bias(-50.0)
    inputs = {"encoder_text": TEXTS[:3], "decoder_text": ["la", "", "le"]}
    with sampling(model, "greedy"):
        given = model.generate(inputs, max_length=5)
        alone = model.generate(TEXTS[1], max_length=5)
    assert given[0].split()[0] == "la" and len(given[0].split()) == 4
    assert given[1:] == [alone, "le"]  # an empty text has no translation


def test_a_random_sampler_draws_among_the_likeliest_words(model):
    inputs = model.preprocessor.generate_preprocess(TEXTS[:2], sequence_length=6)
    with sampling(model, keras_nlp.samplers.TopKSampler(k=2, seed=3)):
        ids = np.asarray(model.generate_step(inputs)["decoder_token_ids"])
    logits = np.array(model(inputs | {"decoder_token_ids": tf.constant(ids)}))[:, :-1]
    logits[..., PAD_ID] = -np.inf
    likeliest = np.argsort(-logits, axis=-1)[..., :2]
    assert (likeliest == ids[:, 1:, np.newaxis]).any(axis=-1).all()
    assert not (likeliest[..., 0] == ids[:, 1:]).all()


def test_search_options_that_are_set_later_count(model):
    before = model.search
    longer = model.generate(TEXTS[:1])
    model.search = before | {"maximum_length_ratio": 0.1}
    try:
        assert len(model.generate(TEXTS[:1])[0].split()) <= 2 < len(longer[0].split())
        model.search = before
        assert model.generate(TEXTS[:1]) == longer
    finally:
        model.search = before


def test_one_long_text_makes_no_long_array_of_all():
    texts = ["short"] * 5 + ["x" * 10_000]
    assert _texts(texts)[0] is texts
    assert _texts(np.array(["a", "b"]))[0] == ["a", "b"] and _texts(tf.constant(["é"]))[0] == [
        "é".encode()
    ]


@pytest.mark.parametrize(
    "inputs, options, message",
    [
        (TEXTS, dict(max_length=1), "max_length: expected at least 2"),
        (
            TEXTS,
            dict(stop_token_ids=[5]),
            "stop_token_ids: expected .*compile with a sampler of keras-nlp",
        ),
        (
            {"encoder_text": ["a"], "decoder_text": ["b"]},
            {},
            r'decoder_text: expected none .*compile\(sampler="greedy"\)',
        ),
        ({"encoder_text": ["a"], "decoder_text": ["b", "c"]}, {}, "decoder_text: expected 1 texts"),
        ({"text": ["a"]}, {}, 'inputs: expected "encoder_text"'),
        (5, {}, "inputs: expected texts, got int 5"),
        (None, {}, "inputs: expected texts, got NoneType"),
        ([["a"], ["b", "c"]], {}, r"texts\[0\]: expected a sentence as str, got list"),
        ({"encoder_text": None}, {}, "inputs: expected texts, got NoneType"),
        ((["a"], ["b"]), {}, "got a tuple"),
        (tf.data.Dataset.from_tensor_slices((["a"], ["b"])), {}, "got a tuple"),
    ],
)
def test_what_the_default_search_does_not_take(model, inputs, options, message):
    with pytest.raises(UsageError, match=message):
        model.generate(inputs, **options)


def test_a_decoder_text_of_none_is_as_none_at_all(model):
    inputs = {"encoder_text": TEXTS, "decoder_text": None}
    assert model.generate(inputs) == model.generate(TEXTS)


@pytest.mark.parametrize(
    "sampler", ["contrastive", "speculative", "gredy", keras_nlp.samplers.ContrastiveSampler()]
)
def test_samplers_that_cannot_work_are_refused_with_those_that_do(model, sampler):
    with pytest.raises(
        UsageError, match='sampler: expected "rnnsearch", "greedy", "beam", "top_k"'
    ):
        model.compile(sampler=sampler)
    assert model.sampler == "rnnsearch"
    with pytest.raises(UsageError, match="return_all_beams"):
        model.compile(sampler=keras_nlp.samplers.BeamSampler(return_all_beams=True))


def test_without_a_preprocessor(model):
    own = model.preprocessor
    model.preprocessor = None
    try:
        with pytest.raises(UsageError, match="expected a preprocessor"):
            model.generate(TEXTS)
    finally:
        model.preprocessor = own


def test_it_learns_from_raw_pairs_and_its_logits_are_those_of_training():
    config = load_config(
        "phrasebook", overrides=["model.hidden_size=48", "model.embedding_size=32"]
    )
    sources, targets = map(list, phrasebook(20, 1, "train"))
    source, target = (
        RNNSearchTokenizer(rnnsearch_tf.build_text(getattr(config, side), lines))
        for side, lines in (("source", sources), ("target", targets))
    )
    backbone = RNNSearchBackbone(
        source.vocabulary_size(), target.vocabulary_size(), as_dictionary(config)["model"]
    )
    model = RNNSearchSeq2SeqLM(
        backbone, RNNSearchSeq2SeqLMPreprocessor(target, source, 14, 14), {"beam_size": 3}
    )
    model.compile(optimizer=rnnsearch_tf.build_optimizer(config.training))
    history = model.fit(sources, targets, batch_size=10, epochs=2, verbose=0).history
    assert (
        history["loss"][1] < history["loss"][0]
        and history["perplexity"][1] < history["perplexity"][0]
    )
    inputs, labels, weights = model.preprocessor(sources[:4], targets[:4])
    system_inputs = {
        "source_ids": inputs["encoder_token_ids"],
        "target_ids": tf.cast(labels, tf.int32),
    }
    expected = backbone.system(system_inputs)
    real = np.asarray(weights) > 0
    np.testing.assert_allclose(
        np.asarray(model(inputs))[real], np.asarray(expected)[real], rtol=1e-5, atol=1e-5
    )


def test_a_tokenizer_says_what_its_text_says(run):
    lines = phrasebook(50, 1, "train")[1]
    text = rnnsearch_tf.build_text(load_config(run / "config.yaml").target, lines)
    tokenizer = RNNSearchTokenizer(text)
    ids = tokenizer(lines[:3])
    # keras-nlp gives lists outside of tf.data
    assert ids == [row[:-1] for row in text.encode(tf.constant(lines[:3])).to_list()]
    assert [value.decode() for value in tokenizer.detokenize(ids).numpy()] == list(lines[:3])
    assert tokenizer.detokenize(tokenizer(lines[0])).numpy().decode() == lines[0]
    assert (
        tokenizer.get_vocabulary() == list(text.vocabulary.tokens)
        and tokenizer.vocabulary_size() == text.vocabulary.size
    )
    assert tokenizer.token_to_id(tokenizer.id_to_token(4)) == 4
    assert tokenizer.token_to_id("<unk>") == 2
    size = text.vocabulary.size
    for wrong in (-1, size, 1.0, "a"):
        with pytest.raises(
            UsageError,
            match=f"id_to_token: expected a whole number from 0 to {size - 1}, got {wrong!r}",
        ):
            tokenizer.id_to_token(wrong)
    with pytest.raises(
        UsageError, match="token_to_id: expected a token of the vocabulary, got 'xyzzy'"
    ):
        tokenizer.token_to_id("xyzzy")


def test_a_tokenizer_without_a_vocabulary_says_so():
    empty = RNNSearchTokenizer(config={"tokenization": "space"})
    for call in (
        lambda: empty(["a b"]),
        lambda: empty.detokenize([[3]]),
        empty.vocabulary_size,
        empty.get_vocabulary,
    ):
        with pytest.raises(UsageError, match="expected a vocabulary, got none.*from_preset"):
            call()
