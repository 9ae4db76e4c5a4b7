"""Requests a server runs before it answers: ``assets.extra/tf_serving_warmup_requests``.

The first request of a session builds kernels and buffers; warmed up, no user waits for that.
"""

import pathlib

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

LENGTHS = (5, 20)
"""Tokens of the sentences; requests have one and several rows."""


def write_warmup(folder, signatures, sentences, number) -> None:
    """Write warm-up requests of every signature, as TFRecords of PredictionLog.

    Args:
        folder: path of the SavedModel.
        signatures: {name: {input: dtype}}.
        sentences: list[str], in the source language; a score request takes them for targets too.
        number: requests of each signature; 0 writes no file.
    """
    if not number:
        return
    path = pathlib.Path(folder) / "assets.extra" / "tf_serving_warmup_requests"
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for name, inputs in signatures.items():
            for request in range(number):
                rows = [
                    sentences[(request + k) % len(sentences)] for k in range(1 + 3 * (request % 2))
                ]
                writer.write(_record(name, inputs, rows).SerializeToString())


def _record(name, inputs, rows):
    # No model name and version: the server fills in its own.
    request = predict_pb2.PredictRequest()
    request.model_spec.signature_name = name
    for key, dtype in inputs.items():
        values = rows if dtype == tf.string else list(range(len(rows)))
        request.inputs[key].CopyFrom(tf.make_tensor_proto(values, dtype=dtype, shape=[len(rows)]))
    return prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )


def sentences_of(text) -> list:
    """Sentences of the model's own words, of a few lengths: list[str]."""
    words = text.vocabulary.tokens[3:] or ["a"]  # the special tokens come first
    rows = [
        [words[k % len(words)] for k in range(start, start + length)]
        for start, length in enumerate(LENGTHS)
    ]
    return [
        line.decode("utf-8")
        for line in text.detokenize(tf.ragged.constant(rows, tf.string)).numpy()
    ]
