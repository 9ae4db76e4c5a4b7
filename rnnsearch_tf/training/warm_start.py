"""Start a training from the best weights and the vocabularies of a trained model, optionally with
new words.

The embedding of a new word and its row or column of the output matrix are drawn by the model's
initializer, as for a new model with the larger vocabulary. Its output bias is the mean over the
last tenth of the old vocabulary, the rarest words. All other weights are exactly the old ones.
"""

from __future__ import annotations

import dataclasses
import os
import sys

import numpy as np

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.corpus import training_files
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.text.pipeline import Text, extend_texts, load_texts
from rnnsearch_tf.translation.loading import load_run


def start_from(
    run: str | os.PathLike[str],
    config: Config,
    new_words: int,
    pairs: Pairs,
) -> tuple[tuple[Text, Text], TranslationModel, str]:
    """Load the model of a RUN to train it with another configuration.

    Args:
        run: path of the RUN folder.
        config: Config of the new training, with the RUN's model, source and target sections.
        new_words: words to add to each vocabulary, at most, from text that the RUN was not trained
            on.
        pairs: the training text.

    Returns:
        ((source Text, target Text), model, not compiled, description of the start, for messages).

    Raises:
        UserError: the folder is not a RUN with best weights, or is damaged.
        UsageError: the configuration has another model or other texts.
    """
    name, run = run, Run.open(run)
    old, *_, before = load_run(run)
    check_continues(config, before, run)
    source, target = load_texts(run, config)
    sizes = [text.vocabulary.size for text in (source, target)]
    if new_words:
        print("looking for new words", file=sys.stderr)
        new = new_pairs(pairs, before)
        source, target = extend_texts((source, target), new, new_words)
    added = [text.vocabulary.size - size for text, size in zip((source, target), sizes)]
    model = build_model(config, source.vocabulary.size, target.vocabulary.size)
    extend_weights(old, model)
    origin = f"the best weights of `{name}`"
    if new_words:
        origin += f", with {added[0]:,} new source and {added[1]:,} new target words"
    print(f"starting from {origin.replace('`', '')}", file=sys.stderr)
    return (source, target), model, origin


def extend_weights(old: TranslationModel, model: TranslationModel) -> None:
    """Copy the weights of a model into one of the same architecture with larger vocabularies.

    Args:
        old: its vocabularies are the first words of those of `model`.
        model: its weights of new words are kept, except the output bias.
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


def check_continues(config: Config, before: Config, run: Run | str) -> None:
    """Raise UsageError if a training that starts from a RUN, whose Config is `before`, has another
    architecture or converts text to other ids.
    """
    for section in ("source", "target", "model"):
        old, new = (dataclasses.asdict(getattr(c, section)) for c in (before, config))
        for key in old:
            if not key.endswith("_dropout") and old[key] != new[key]:
                raise UsageError(
                    f"{section}.{key}: expected {old[key]} as in {run}, got {new[key]}; a training"
                    " that starts from a model keeps its architecture and vocabularies: begin the"
                    f" configuration with base: {os.path.abspath(run)}/config.yaml, and leave the"
                    " option out"
                )


def new_pairs(pairs: Pairs, before: Config) -> Pairs:
    """The pairs of the files that a RUN, whose Config is `before`, was not trained on; all pairs if
    there are no such files.
    """
    known = {tuple(map(os.path.abspath, files)) for files in training_files(before.data)}
    new = [files for files in pairs.files if tuple(map(os.path.abspath, files)) not in known]
    return pairs.of_files(new) if new else pairs
