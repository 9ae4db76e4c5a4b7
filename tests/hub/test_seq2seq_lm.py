"""Translations of the models of keras-nlp, and fit on raw pairs."""

import dataclasses

import numpy as np
import tensorflow as tf

import rnnsearch_tf
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.extras.hub import (
    RNNSearchBackbone,
    RNNSearchSeq2SeqLM,
    RNNSearchSeq2SeqLMPreprocessor,
    RNNSearchTokenizer,
)

TEXTS = [
    "My sister sells an old book.",
    "the red car",
    "",
    "A much longer sentence, which is about nothing at all, is cut.",
    "été ☃",
]


def texts(translations):
    return [translation.text for translation in translations]


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
    ):
        assert model.generate(inputs) == expected
    assert model.generate(TEXTS[0]) == expected[0]
    cut = model.generate(TEXTS[0], max_length=3)
    assert expected[0].startswith(cut) and 0 < len(cut) < len(expected[0])


def test_search_options_that_are_set_later_count(model):
    before = model.search
    usual = model.generate(TEXTS[:1])
    assert "<unk>" in usual[0]
    model.search = before | {"allow_unknown": False}
    try:
        assert "<unk>" not in model.generate(TEXTS[:1])[0]
        model.search = before
        assert model.generate(TEXTS[:1]) == usual
    finally:
        model.search = before


def test_it_learns_from_raw_pairs_and_its_logits_are_those_of_training():
    config = load_config(
        "phrasebook", overrides=["model.hidden_size=48", "model.embedding_size=32"]
    )
    sources, targets = map(list, phrasebook(20, "train"))
    source, target = (
        RNNSearchTokenizer(rnnsearch_tf.build_text(getattr(config, side), lines))
        for side, lines in (("source", sources), ("target", targets))
    )
    backbone = RNNSearchBackbone(
        source.vocabulary_size(), target.vocabulary_size(), dataclasses.asdict(config.model)
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
    lines = phrasebook(50, "train")[1]
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
