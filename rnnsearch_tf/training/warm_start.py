"""A training that begins from a trained model: its best weights, its texts, and new words where
they are asked for.

A new word's row of E and its row or column of the output matrix are drawn by the model's own
initializer, as for a fresh model of the larger vocabulary. Its output bias is the mean of those of
the last tenth of the old vocabulary, its rarest words. All other weights are the old ones, to the
bit.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config
from rnnsearch_tf.data.continuing import check_continues, new_pairs
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import Text, extend_texts, load_text
from rnnsearch_tf.translation.loading import load_run

LOOKED_AT = 1000
"""Pairs of the new text by whose lengths the length limits are judged."""

MUCH = 0.05
"""Share of them that is worth a line."""


def start_from(run, config, new_words=0) -> tuple[Config, tuple[Text, Text], TranslationModel, str]:
    """The model of a RUN, for training with another configuration.

    Args:
        run: path of the RUN folder.
        config: Config of the new training; model, source and target as the RUN has them.
        new_words: words to add to each vocabulary at most, of the text that the RUN was not trained
            on.

    Returns:
        (Config with the vocabulary sizes after new words, (source Text, target Text), model, not
        compiled, what it began from in words).

    Raises:
        UserError: the folder is no RUN with best weights, or is damaged.
        UsageError: the configuration is of another model or other texts.
    """
    run = Run.open(run)
    old, *_, before = load_run(run)
    check_continues(config, before, run)
    texts = tuple(load_text(run, side, getattr(config, side)) for side in ("source", "target"))
    sizes = [text.vocabulary.size for text in texts]
    if new_words:
        print("looking for new words", file=sys.stderr)
        lines = itertools.chain.from_iterable(pairs.lines() for pairs in new_pairs(config, before))
        texts = tuple(extend_texts(texts, lines, new_words))
        config = dataclasses.replace(config, source=texts[0].config, target=texts[1].config)
    added = [text.vocabulary.size - size for text, size in zip(texts, sizes)]
    model = build_model(config, *(text.vocabulary.size for text in texts))
    extend_weights(old, model)
    if config.data.prepared is None:
        _say_what_is_too_long(config.data, texts, new_pairs(config, before)[0])
    origin = f"the best weights of `{run}`"
    if new_words:
        origin += f", with {added[0]:,} new source and {added[1]:,} new target words"
    print(f"beginning from {origin.replace('`', '')}", file=sys.stderr)
    return config, texts, model, origin


def _say_what_is_too_long(data, texts, pairs):
    """Say so where the RUN's length limits leave out a good part of the new text, by its first
    pairs.
    """
    sides = list(zip(*itertools.islice(pairs, LOOKED_AT)))
    limits = (data.maximum_source_length, data.maximum_target_length)
    # END_ID is not counted
    lengths = [
        text.encode(tf.constant(side)).row_lengths().numpy() - 1 for text, side in zip(texts, sides)
    ]
    share = np.mean((lengths[0] > limits[0]) | (lengths[1] > limits[1]))
    if share > MUCH:
        print(
            f"{share:.0%} of the first {len(sides[0]):,} pairs are left out of training: they are"
            f" longer than data.maximum_source_length={limits[0]} or"
            f" data.maximum_target_length={limits[1]}; raise these limits to train on them",
            file=sys.stderr,
        )


def extend_weights(old, model) -> None:
    """Give a model the weights of one of the same architecture whose vocabularies are the first
    words of its own.

    Args:
        old: TranslationModel.
        model: TranslationModel with fresh weights; what a new word has of them stays, but for the
            output bias.
    """
    for before, weight in zip(old.trainable_variables, model.trainable_variables, strict=True):
        known = keras.ops.convert_to_numpy(before)
        fresh = keras.ops.convert_to_numpy(weight)
        # that of the words
        axis = next((k for k, size in enumerate(known.shape) if size != fresh.shape[k]), None)
        if axis is None:
            weight.assign(known)
            continue
        new = np.split(fresh, [known.shape[axis]], axis=axis)[1]
        if weight is model.output_layer.b_softmax:
            new = np.full_like(new, known[-max(1, known.size // 10) :].mean())
        weight.assign(np.concatenate([known, new], axis=axis))
