"""Convert RUN folders to presets of keras-nlp."""

from __future__ import annotations

import dataclasses
import os
import pathlib

from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder
from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.extras.hub.seq2seq_lm import RNNSearchSeq2SeqLM
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer
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

{parameters:,} parameters; vocabularies of {source_size:,} and {target_size:,} entries.\
 `import rnnsearch_tf.extras.hub` comes first: it
registers the classes. Other backends than TensorFlow cannot run it.
"""


def load_run(run: str | os.PathLike[str]) -> RNNSearchSeq2SeqLM:
    """Load a RUN's best model as RNNSearchSeq2SeqLM."""
    run = Run.open(run)
    config = load_config(run.config)
    source, target = map(RNNSearchTokenizer, load_texts(run, config))
    values = dataclasses.asdict(config)
    backbone = RNNSearchBackbone(
        source.vocabulary_size(),
        target.vocabulary_size(),
        values["model"],
        dtype=config.training.precision,
    )
    run.read_weights(backbone.system)
    longest = config.data.maximum_length + 1  # with the end symbol
    preprocessor = RNNSearchSeq2SeqLMPreprocessor(target, source, longest, longest)
    return RNNSearchSeq2SeqLM(backbone, preprocessor, values["search"])


def run_to_preset(run: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Write a RUN's best model as a preset.

    Args:
        run: path of the RUN folder.
        folder: path that does not exist yet.

    Raises:
        UserError: the RUN is incomplete, or ``folder`` exists.
    """
    folder = pathlib.Path(folder)
    if folder.exists():
        raise UserError(
            f"{folder}: expected a path that does not exist, found something; choose another"
            " folder, or delete it"
        )
    model = load_run(run)
    config = model.run_config()
    system = model.backbone.system
    # keras-hub's loader fails if this dtype is not given explicitly
    dtype = ', dtype="mixed_bfloat16"' if config.training.precision == "mixed_bfloat16" else ""
    with new_folder(folder) as partial:
        model.save_to_preset(str(partial))
        (partial / "README.md").write_text(
            CARD.format(
                dtype=dtype,
                source=config.source.language,
                target=config.target.language,
                system=type(system).__name__,
                parameters=system.count_params(),
                source_size=system.source_vocabulary_size,
                target_size=system.target_vocabulary_size,
            ),
            encoding="utf-8",
        )
