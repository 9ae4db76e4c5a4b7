"""Check a file with a search as a graph: a new process answers, and its answers are compared.

Imports no TensorFlow, so that the new process has none.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Sequence

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.processes import module_command

TOLERANCE = 1e-4
"""Largest difference of scores and attention weights, computed in float32 by two programs."""

COMPARED = ["scores", "log_probabilities", "alignments", "finished"]


def run_batches(
    checker: str, file: str | os.PathLike[str], batches: Sequence[np.ndarray]
) -> list[dict[str, np.ndarray]]:
    """Search in a new process.

    Args:
        checker: module that is called as ``python -m CHECKER FILE REQUESTS ANSWERS``; its main
            part calls :func:`answer_requests`.
        file: path of the file.
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
        command = module_command(checker, str(file), str(requests), str(answers))
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise UserError(
                f"{file}: expected a file that can be run, got exit code {done.returncode}; correct"
                f" its cause and export again: {done.stderr[-2000:]}"
            )
        with np.load(answers) as arrays:
            found: list[dict[str, np.ndarray]] = [{} for _ in batches]
            for key, array in arrays.items():
                number, name = key.split(".")
                found[int(number)][name] = array
    return found


def answer_requests(
    search: Callable[[np.ndarray], dict[str, np.ndarray]], requests: str, answers: str
) -> None:
    """What a checker does: search for the batches of one .npz file, write the answers to another.

    Args:
        search: function int32 [B, J] → {name of an output: array}.
    """
    found: dict[str, np.ndarray] = {}
    with np.load(requests) as batches:
        for number, batch in enumerate(batches.values()):
            found |= {f"{number}.{name}": value for name, value in search(batch).items()}
    np.savez(answers, **found)  # type: ignore[arg-type]  # of allow_pickle


def compare(
    file: str | os.PathLike[str],
    got: Sequence[dict[str, np.ndarray]],
    expected: Sequence[dict[str, np.ndarray]],
) -> tuple[int, int]:
    """Compare the n-best lists with those of the Python model.

    Returns:
        (number of sentences that were compared, those with other words and the same scores).

    Raises:
        UserError: an answer differs; the message shows the first.
    """
    compared = ties = 0
    for one, other in zip(got, expected):
        for row in range(len(other["ids"])):
            found, wanted = _row(one, row), _row(other, row)
            if not wanted["lengths"][0]:
                raise UserError(
                    f"{file}: expected a hypothesis of the Python model, got none; check its"
                    " weights (rnnsearch evaluate), and search.shortlist and"
                    " search.minimum_length_ratio"
                )
            same = np.array_equal(found["ids"], wanted["ids"])
            near = all(
                np.allclose(found[name], wanted[name], TOLERANCE, TOLERANCE)
                for name in (COMPARED if same else ["scores"])
            )
            if not near:
                raise UserError(
                    f"{file}: expected the Python model's answer {wanted['ids'].tolist()} with"
                    f" the scores {wanted['scores'].tolist()}, got"
                    f" {found['ids'].tolist()} with {found['scores'].tolist()}; the export"
                    " would be wrong and is not published"
                )
            compared += 1
            ties += not same
    return compared, ties


def _row(answer: dict[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    """The answer to one sentence, without the padding to the longest hypothesis of its batch."""
    longest = answer["lengths"][row].max()
    cut = {name: answer[name][row][:, :longest] for name in ("ids", "alignments")}
    return {name: value[row] for name, value in answer.items()} | cut
