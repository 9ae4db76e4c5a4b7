"""Convert a run folder to a preset of keras-nlp."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from rnnsearch_tf.extras.hub.backbone import RNNSearchBackbone
from rnnsearch_tf.extras.hub.preprocessor import RNNSearchSeq2SeqLMPreprocessor
from rnnsearch_tf.extras.hub.seq2seq_lm import RNNSearchSeq2SeqLM
from rnnsearch_tf.extras.hub.tokenizer import RNNSearchTokenizer
from rnnsearch_tf.files.atomic import new_folder
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import load_run

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


def run_to_preset(
    run: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    overrides: Sequence[str] = (),
) -> None:
    """Write the best model of a run folder as a preset.

    Args:
        run: path of the run folder.
        folder: path of a new folder.
        overrides: options that replace the run's own, such as ``search.beam_size=5``.

    Raises:
        UsageError: the model is a language model.
        UserError: the run folder is incomplete, or ``folder`` has files or cannot be written.
    """
    trained, source_text, target_text, config = load_run(run, overrides)
    Translator(trained, source_text, target_text, config).require_translations("preset")
    source, target = map(RNNSearchTokenizer, (source_text, target_text))
    values = dataclasses.asdict(config)
    precision = config.training.precision
    sizes = source.vocabulary_size(), target.vocabulary_size()
    backbone = RNNSearchBackbone(*sizes, values["model"], dtype=precision)
    backbone.system.set_weights(trained.get_weights())
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
