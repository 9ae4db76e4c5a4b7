"""Warm-up requests, run when a server loads a model: ``assets.extra/tf_serving_warmup_requests``.

The first request of a session creates kernels and buffers; after the warm-up, no user waits for it.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from rnnsearch_tf.text.pipeline import Text

FILE = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")

LENGTHS = (5, 20)
"""Lengths of the sentences in tokens."""


def write_warmup(
    folder: str | os.PathLike[str],
    signatures: Mapping[str, Mapping[str, tf.DType]],
    sentences: Sequence[str],
    number: int,
) -> None:
    """Write warm-up requests of every signature, as TFRecords of PredictionLog.

    Args:
        folder: path of the SavedModel.
        signatures: {name: {input: dtype}}.
        sentences: in the source language; a score request also uses them as targets.
        number: requests of each signature, with one row or four; 0 writes no file.
    """
    if not number:
        return
    path = pathlib.Path(folder, FILE)
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for name, inputs in signatures.items():
            for request in range(number):
                rows = [
                    sentences[(request + k) % len(sentences)] for k in range(1 + 3 * (request % 2))
                ]
                writer.write(_record(name, inputs, rows).SerializeToString())


def _record(
    name: str, inputs: Mapping[str, tf.DType], rows: Sequence[str]
) -> prediction_log_pb2.PredictionLog:
    # without a model name and version, the server uses its own
    request = predict_pb2.PredictRequest()
    request.model_spec.signature_name = name
    for key, dtype in inputs.items():
        values = rows if dtype == tf.string else list(range(len(rows)))
        request.inputs[key].CopyFrom(tf.make_tensor_proto(values, dtype=dtype, shape=[len(rows)]))
    return prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )


def sentences_of(text: Text) -> list[str]:
    """Sentences of words from a vocabulary, with the lengths LENGTHS."""
    words = text.vocabulary.tokens[3:] or ["a"]  # the special tokens come first
    rows = [
        [words[k % len(words)] for k in range(start, start + length)]
        for start, length in enumerate(LENGTHS)
    ]
    return [
        line.decode("utf-8")
        for line in text.detokenize(tf.ragged.constant(rows, tf.string)).numpy()
    ]
