"""Translations of the models of keras-nlp."""

import numpy as np
import tensorflow as tf

import rnnsearch_tf
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.extras.hub import (
    RNNSearchSeq2SeqLM,
    RNNSearchTokenizer,
)

TEXTS = [
    "My sister sells an old book.",
    "the red car",
    "",
    "A much longer sentence, which is about nothing at all, is cut.",
    "été ☃",
]


def test_generate_is_translate_to_the_character(run, model):
    expected = [each.text for each in rnnsearch_tf.Translator.load(run).translate(TEXTS)]
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
    tokens = model.translator.translate(TEXTS[0]).tokens[:2]  # beside the start symbol
    assert model.generate(TEXTS[0], max_length=3) == " ".join(tokens)


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
