"""Convert a run folder to a preset of keras-nlp."""

from __future__ import annotations

import dataclasses
import os

from rnnsearch_tf.config import load_config
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.extras.hub.seq2seq_lm import RNNSearchSeq2SeqLM
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer
from rnnsearch_tf.files.atomic import new_folder
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_texts

CARD = """\
---
library_name: keras-hub
pipeline_tag: translation
language: ["{source}", "{target}"]
---
# {system}, {source} to {target}

A translation model of `rnnsearch_tf`, for Keras 3 on TensorFlow:

    import rnnsearch_tf.extras.hub, keras_nlp
    keras_nlp.models.Seq2SeqLM.from_preset("THIS FOLDER"{dtype}).generate(["…"])

{parameters:,} parameters; vocabularies of {source_size:,} and {target_size:,} entries. The first
import registers the classes. Other backends than TensorFlow cannot run it.
"""


def run_to_preset(run: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Write the best model of a run folder as a preset.

    Args:
        run: path of the run folder.
        folder: path of a new folder.

    Raises:
        UserError: the run folder is incomplete, or ``folder`` has files or cannot be written.
    """
    run = Run.open(run)
    config = load_config(run.config)
    source, target = map(RNNSearchTokenizer, load_texts(run, config))
    values = dataclasses.asdict(config)
    precision = config.training.precision
    sizes = source.vocabulary_size(), target.vocabulary_size()
    backbone = RNNSearchBackbone(*sizes, values["model"], dtype=precision)
    run.read_weights(backbone.system)
    longest = config.data.maximum_length + 1  # with the end symbol
    preprocessor = RNNSearchSeq2SeqLMPreprocessor(target, source, longest, longest)
    model = RNNSearchSeq2SeqLM(backbone, preprocessor, values["search"])
    card = CARD.format(
        # keras-hub's loader fails if this dtype is not given explicitly
        dtype=', dtype="mixed_bfloat16"' if precision == "mixed_bfloat16" else "",
        source=config.source.language,
        target=config.target.language,
        system=type(backbone.system).__name__,
        parameters=backbone.system.count_params(),
        source_size=sizes[0],
        target_size=sizes[1],
    )
    with new_folder(folder) as partial:
        model.save_to_preset(str(partial))
        (partial / "README.md").write_text(card, encoding="utf-8")
