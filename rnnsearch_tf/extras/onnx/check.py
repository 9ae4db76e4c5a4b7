"""Compare the answers of an ONNX file with those of the Python model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath

TOLERANCE = 1e-4
"""Largest difference of scores and attention weights, computed in float32 by two programs."""

COMPARED = "scores", "log_probabilities", "token_log_probabilities", "alignments", "finished"

Answer = Mapping[str, np.ndarray]
"""{name of an output: array [B, ...]}."""


def answers(file: AnyPath, batches: Sequence[np.ndarray]) -> list[Answer]:
    """Search with ONNX Runtime for batches of source ids, int32 [B, J] each."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(names, {source.name: batch}))) for batch in batches]


def compare(file: AnyPath, got: Sequence[Answer], expected: Sequence[Answer]) -> int:
    """Compare the n-best lists with those of the Python model; returns the number of sentences.

    ONNX Runtime may add in another order than the Python model. Then rounding decides between
    hypotheses of the same score, which a model without much training has: a tie. If most answers
    are other text with the right scores, that has another cause.

    Raises:
        UserError: an answer differs, of which the first is shown, or more than half are ties.
    """
    compared = ties = 0
    for one, other in zip(got, expected):
        for row in range(len(other["ids"])):
            found, wanted = _row(one, row), _row(other, row)
            same = np.array_equal(found["ids"], wanted["ids"])
            near = all(
                np.allclose(found[name], wanted[name], TOLERANCE, TOLERANCE)
                for name in (COMPARED if same else ("scores",))
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
    if 2 * ties > compared:
        raise UserError(
            f"{file}: expected the Python model's answers, got other text with the same scores"
            f" for {ties:,} of {compared:,}; the export would be wrong and is not published"
        )
    return compared


def _row(answer: Answer, row: int) -> dict[str, np.ndarray]:
    """The answer to one sentence, without the padding to the longest hypothesis of its batch."""
    longest = answer["lengths"][row].max()
    of_words = ("ids", "alignments", "token_log_probabilities")
    cut = {name: answer[name][row][:, :longest] for name in of_words}
    return {name: value[row] for name, value in answer.items()} | cut
