"""Warm-up requests, run when a server loads a model: ``assets.extra/tf_serving_warmup_requests``.

The first request of a session creates kernels and buffers; after the warm-up, no user waits for it.
"""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.translation.functions import INPUTS

WARM_UP_FILE = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")

LENGTHS = (5, 20)
"""Lengths of the sentences in tokens."""


def write_warmup(
    folder: AnyPath, signatures: Sequence[str], sentences: Sequence[str], number: int
) -> None:
    """Write warm-up requests of every signature, as TFRecords of PredictionLog.

    Args:
        folder: path of the SavedModel.
        signatures: their names; serving_default is one more.
        sentences: in the source language; a score request also uses them as targets.
        number: requests of each signature, with one row or four; 0 writes no file.
    """
    if not number:
        return
    path = pathlib.Path(folder, WARM_UP_FILE)
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for name in (*signatures, "serving_default"):
            for request in range(number):
                rows = 1 + 3 * (request % 2)
                lines = [sentences[(request + k) % len(sentences)] for k in range(rows)]
                writer.write(_record(name, lines).SerializeToString())


def _record(name: str, lines: Sequence[str]) -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request  # for the model and the version that the server has
    request.model_spec.signature_name = name
    for key, dtype in INPUTS["translate" if name == "serving_default" else name].items():
        values = lines if dtype == tf.string else [1] * len(lines)  # a seed, a temperature
        request.inputs[key].CopyFrom(tf.make_tensor_proto(values, dtype))
    return log


def sentences_of(text: Text) -> list[str]:
    """Sentences of words from a vocabulary, with the lengths LENGTHS."""
    words = text.vocabulary.tokens[3:]  # the special tokens come first
    rows = [
        [words[k % len(words)] for k in range(start, start + length)]
        for start, length in enumerate(LENGTHS)
    ]
    lines = text.detokenize(tf.ragged.constant(rows, tf.string)).numpy()
    return [line.decode("utf-8") for line in lines]
