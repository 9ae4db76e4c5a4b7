"""Run an exported model in a TF1 session, as the stock server does, without this package's models.

    python -m rnnsearch_tf.export.session FOLDER REQUESTS ANSWERS

runs requests in a new process. This check is needed because a model that loads with
``tf.saved_model.load`` in the process that wrote it may still fail in a server.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.runtime.tensorflow import import_tensorflow

Request = tuple[str, Mapping[str, Sequence[Any]]]
"""(signature, {input: its values, bytes or int})."""

Answer = dict[str, Any]
"""{output: nested list, strings as bytes}."""


class SessionModel:
    """A SavedModel in its own session.

    Args:
        folder: path of the SavedModel, the version's folder.

    Example::

        SessionModel("served/1")("translate", text=["the red car"])["translation"]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  its operations, which the stock server links

        self._session = tf.compat.v1.Session(graph=tf.Graph())
        with self._session.graph.as_default():
            graph = tf.compat.v1.saved_model.load(self._session, ["serve"], str(folder))
        self.signatures = dict(graph.signature_def)

    def __call__(self, signature: str, **inputs: Any) -> dict[str, np.ndarray]:
        """Answer a request: {output: array}; string outputs are arrays of bytes."""
        return self.run(signature, inputs)

    def run(
        self,
        signature: str,
        inputs: Mapping[str, Any],
        outputs: Sequence[str] = (),
        seconds: float = 3600.0,
    ) -> dict[str, np.ndarray]:
        """Answer a request with some of its outputs; none: all.

        Raises:
            tf.errors.OpError: what the graph says; DeadlineExceededError after `seconds`.
        """
        import tensorflow as tf

        definition = self.signatures[signature]
        return self._session.run(
            {name: definition.outputs[name].name for name in outputs or definition.outputs},
            {definition.inputs[name].name: value for name, value in inputs.items()},
            tf.compat.v1.RunOptions(timeout_in_ms=max(1, round(1000 * seconds))),
        )


def run_requests(folder: str | os.PathLike[str], requests: Sequence[Request]) -> list[Answer | str]:
    """Answer requests with a SavedModel in a new process.

    Returns:
        the answers; for a refused request, the error message.

    Raises:
        RuntimeError: the process failed; the message ends with its standard error.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        requests_file = pathlib.Path(temporary) / "requests"
        answers_file = pathlib.Path(temporary) / "answers"
        requests_file.write_bytes(pickle.dumps(requests))
        files = map(str, (folder, requests_file, answers_file))
        command = [sys.executable, "-m", "rnnsearch_tf.export.session", *files]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-2000:]}")
        answers: list[Answer | str] = pickle.loads(answers_file.read_bytes())
        return answers


def _answer(
    model: SessionModel, signature: str, inputs: Mapping[str, Sequence[Any]]
) -> Answer | str:
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


def main(folder: str, requests: str, answers: str) -> None:
    """Read requests from a pickle file, answer them, and write the answers to another."""
    import_tensorflow()
    model = SessionModel(folder)
    answered = [
        _answer(model, *request) for request in pickle.loads(pathlib.Path(requests).read_bytes())
    ]
    pathlib.Path(answers).write_bytes(pickle.dumps(answered))


if __name__ == "__main__":
    main(*sys.argv[1:])
