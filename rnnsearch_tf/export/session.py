"""An exported model in a v1 session, as the stock server holds it; nothing of this package's models
is used.

    python -m rnnsearch_tf.export.session FOLDER REQUESTS ANSWERS

runs requests in a fresh process, which is the check that counts: what loads with
``tf.saved_model.load`` in the process that wrote it may still fail in a server.
"""

from __future__ import annotations

import pathlib
import pickle
import sys

import numpy as np

from rnnsearch_tf.runtime.tensorflow import import_tensorflow


class SessionModel:
    """A SavedModel loaded into a session of its own.

    Args:
        folder: path of the SavedModel, the version's folder.

    Example::

        SessionModel("served/1")("translate", text=["the red car"])["translation"]
    """

    def __init__(self, folder):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  its operations, which the stock server links

        self._session = tf.compat.v1.Session(graph=tf.Graph())
        with self._session.graph.as_default():
            graph = tf.compat.v1.saved_model.load(self._session, ["serve"], str(folder))
        self.signatures = dict(graph.signature_def)

    def __call__(self, signature, **inputs) -> dict:
        """{output: array} of one request; string outputs are arrays of bytes."""
        signature = self.signatures[signature]
        fetches = {name: output.name for name, output in signature.outputs.items()}
        return self._session.run(
            fetches, {signature.inputs[name].name: value for name, value in inputs.items()}
        )


def run_requests(folder, requests) -> list:
    """Answers of a SavedModel to requests, from a fresh process.

    Args:
        folder: path of the SavedModel.
        requests: list of (signature, {input: list of bytes or int}).

    Returns:
        list of {output: nested list}, strings as bytes; or, where a request was refused, the
        message (str).

    Raises:
        RuntimeError: the process failed; the message ends with what it said.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        asked = pathlib.Path(place) / "requests"
        answered = pathlib.Path(place) / "answers"
        asked.write_bytes(pickle.dumps(requests))
        command = [
            sys.executable,
            "-m",
            "rnnsearch_tf.export.session",
            str(folder),
            str(asked),
            str(answered),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-2000:]}")
        return pickle.loads(answered.read_bytes())


def _answer(model, signature, inputs):
    import tensorflow as tf

    dtypes = {
        name: tf.as_dtype(tensor.dtype).as_numpy_dtype
        for name, tensor in model.signatures[signature].inputs.items()
    }
    try:
        outputs = model(
            signature, **{name: np.array(values, dtypes[name]) for name, values in inputs.items()}
        )
    except tf.errors.InvalidArgumentError as error:
        return error.message
    return {name: values.tolist() for name, values in outputs.items()}


def main(folder, asked, answered):
    import_tensorflow()
    model = SessionModel(folder)
    answers = [
        _answer(model, *request) for request in pickle.loads(pathlib.Path(asked).read_bytes())
    ]
    pathlib.Path(answered).write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
