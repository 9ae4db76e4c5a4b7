"""Check an ONNX file before it is published: a new process answers, without TensorFlow.

    python -m rnnsearch_tf.extras.onnx.check FILE REQUESTS ANSWERS

The answers must be those of the Python model, for sentences of its words, unusual text, and batches
of several lengths.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.errors import UserError

TOLERANCE = 1e-4
"""Largest difference of scores and attention weights, computed in float32 by two programs."""


def run_batches(file: str | os.PathLike[str], batches: Sequence[np.ndarray]) -> list[dict]:
    """Search in a new process.

    Args:
        file: path of the ONNX file.
        batches: arrays of source ids, int32 [B, J].

    Returns:
        for each batch, {name of an output: array}.

    Raises:
        UserError: the process failed; the message ends with its standard error.
    """
    with tempfile.TemporaryDirectory() as temporary:
        requests = pathlib.Path(temporary, "requests.npz")
        answers = pathlib.Path(temporary, "answers.npz")
        np.savez(requests, *batches)
        command = [sys.executable, "-m", __name__, str(file), str(requests), str(answers)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise UserError(
                f"{file}: expected an ONNX file that ONNX Runtime can run, got:"
                f" {done.stderr[-2000:]}"
            )
        with np.load(answers) as arrays:
            found: list[dict] = [{} for _ in batches]
            for key, array in arrays.items():
                number, name = key.split(".")
                found[int(number)][name] = array
    return found


def compare(
    file: str | os.PathLike[str],
    got: Sequence[dict],
    expected: Sequence[dict],
) -> int:
    """Compare the n-best lists with those of the Python model.

    Returns:
        number of sentences that were compared.

    Raises:
        UserError: an answer differs; the message shows the first.
    """
    compared = 0
    for one, other in zip(got, expected):
        for row in range(len(other["ids"])):
            same = np.array_equal(one["ids"][row], other["ids"][row])
            near = same and all(
                np.allclose(one[name][row], other[name][row], TOLERANCE, TOLERANCE)
                for name in ("scores", "log_probabilities", "alignments", "finished")
            )
            if not near:
                raise UserError(
                    f"{file}: expected the Python model's answer {other['ids'][row].tolist()} with"
                    f" the scores {other['scores'][row].tolist()}, got"
                    f" {one['ids'][row].tolist()} with {one['scores'][row].tolist()}; the export"
                    " would be wrong and is not published"
                )
            compared += 1
    return compared


def main(file: str, requests: str, answers: str) -> None:
    """Answer the batches of one .npz file, and write the answers to another."""
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found: dict[str, np.ndarray] = {}
    with np.load(requests) as batches:
        for number, batch in enumerate(batches.values()):
            values = session.run(names, {session.get_inputs()[0].name: batch})
            found |= {f"{number}.{name}": value for name, value in zip(names, values)}
    np.savez(answers, **found)  # type: ignore[arg-type]  # of allow_pickle


if __name__ == "__main__":
    main(*sys.argv[1:])
