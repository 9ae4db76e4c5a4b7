"""An exported model in a TF1 session, as TensorFlow Serving runs it, without this package's models.

    python -m rnnsearch_tf.export.saved_model FOLDER < REQUESTS > ANSWERS

answers pickled requests in a new process: a SavedModel that answers in the process that wrote it
may still fail in a server.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.runtime.tensorflow import import_tensorflow

Request = tuple[str, Mapping[str, Sequence[Any]]]
"""(signature, {input: its values, bytes or numbers})."""


class SavedModel:
    """A SavedModel in its own session.

    Args:
        folder: path of the SavedModel, the version's folder.

    Attributes:
        signatures: {name: SignatureDef}.

    Raises:
        UserError: it does not load.

    Example::

        SavedModel("served/1")("translate", text=["the red car"])["translation"]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  its operations, which the stock server links

        settings = tf.compat.v1.ConfigProto()
        # outside of functions there is nothing to optimize, but it takes half a second
        settings.graph_options.rewrite_options.disable_meta_optimizer = True
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=settings)
        try:
            with self._session.graph.as_default():
                graph = tf.compat.v1.saved_model.load(self._session, ["serve"], str(folder))
        except Exception as error:  # TensorFlow raises many types
            raise UserError(
                f"{folder}: expected a complete SavedModel, got one that does not load"
                f" ({one_line(error)}); export it again"
            ) from None
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

    def close(self) -> None:
        """Break off the runs under way, and answer no more."""
        self._session.close()


def run_requests(
    folder: str | os.PathLike[str], requests: Sequence[Request]
) -> list[dict[str, np.ndarray]]:
    """Answer requests with a SavedModel in a new process.

    Raises:
        UserError: the process failed; the message ends with its standard error.
    """
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(folder)],
        input=pickle.dumps(requests),
        capture_output=True,
    )
    if done.returncode:
        reason = one_line(done.stderr.decode(errors="replace")[-2000:], 2000)
        raise UserError(
            f"{folder}: expected a SavedModel that answers in a new process, got: {reason}; the"
            " export is not published: please report this"
        )
    return pickle.loads(done.stdout)


if __name__ == "__main__":
    import_tensorflow()
    model = SavedModel(sys.argv[1])
    answers = [model(name, **inputs) for name, inputs in pickle.load(sys.stdin.buffer)]
    sys.stdout.buffer.write(pickle.dumps(answers))
