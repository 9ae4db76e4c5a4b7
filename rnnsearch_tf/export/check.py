"""Check a SavedModel before it is published.

A new process loads it into a session and answers requests. The outputs that READ names must be
those of the Python model for every request, and must not depend on the rest of the batch. Where
two hypotheses have the same score but for rounding, either is right: see :func:`check_ties`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.session import Request, run_requests

if TYPE_CHECKING:
    from rnnsearch_tf.export.profile import Profile
    from rnnsearch_tf.translation import Translation, Translator

Compared = tuple[list[Any], list[float]]
"""Parts of an answer: (values that must be equal, numbers that must be close)."""

TOLERANCE = 1e-5
"""Largest difference of scores: absolute, or relative for scores above 1."""

BATCH = 64

TRICKY = [
    b"",
    b"   \t ",
    "naïve café — “quoted” … 12,5 % n'est-ce pas ?".encode(),
    "e\u0301te\u0301 a\u0300 la plage".encode(),  # combining marks
    "👩\u200d👩\u200d👧 🇫🇷 🙂🙃".encode(),
    "שלום עולם مرحبا بالعالم".encode(),  # right to left
    b"invalid \xff\xfe bytes \xc3",
    "\x00null \x07bell \u2028 line".encode(),
    b"(((((( ...... !!!!!! ||| </s> <unk> <pad>",
]
LONG = b"all work and no play makes a dull day " * 264  # more than 10,000 characters


def check_export(
    folder: str | os.PathLike[str],
    translator: Translator,
    profile: Profile,
    sentences: Sequence[str],
) -> int:
    """Compare an exported model's answers with the Python model's.

    The requests have sentences of the model's own words, an empty line, unusual Unicode, invalid
    UTF-8 and a line of 10,000 characters, in batches of 0, 1 and 64 rows; each row is tried at two
    different places of a batch.

    Args:
        translator: Translator with exactly the weights that are stored.
        sentences: sentences of the model's own words.

    Returns:
        number of answers that were compared.

    Raises:
        UserError: an answer differs (the message shows the first), or the model cannot be loaded.
    """
    lines = [*TRICKY, LONG, *(line.encode() for line in sentences)]
    batch = list(itertools.islice(itertools.cycle(lines), BATCH))
    requests: list[Request] = [
        ("translate", {"text": []}),
        *(("translate", {"text": [line]}) for line in lines),
    ]
    requests += [("translate", {"text": batch}), ("translate", {"text": batch[::-1]})]
    requests += [(name, _inputs(name, lines)) for name in profile.signatures if name != "translate"]
    try:
        answers = run_requests(folder, requests)
    except RuntimeError as error:
        raise UserError(
            f"{folder}: expected a SavedModel that loads in a session, got: {error}; the"
            " export is not published: please report this"
        ) from None
    compared = ties = 0
    with _without_warnings():  # the overlong sentences are intended
        reference = PythonAnswers(translator, profile)
        for (name, inputs), answer in zip(requests, answers):
            if isinstance(answer, str):
                raise UserError(
                    f"{folder}: {name}: expected an answer, got the error: {answer}; the export is"
                    " not published: please report this"
                )
            if name not in READ:
                continue
            for row, request in enumerate(zip(*inputs.values())):
                got = READ[name]({key: values[row] for key, values in answer.items()})
                ties += not _compare(
                    folder,
                    name,
                    request,
                    got,
                    reference(name, *request),
                    profile.precision == "float32",
                )
                compared += 1
    check_ties(folder, ties, compared)
    return compared


def _inputs(name: str, lines: Sequence[bytes]) -> Mapping[str, Sequence[Any]]:
    if name == "score":
        return {"source": lines, "target": lines[::-1]}
    # Translator.sample counts the samples of a sentence in the lower half of the seed
    return (
        {"text": lines, "seed": [k << 32 for k in range(len(lines))]}
        if name == "sample"
        else {"text": lines}
    )


READ: dict[str, Callable[[Mapping[str, Any]], Compared]] = {
    "translate": lambda row: ([row["translation"], row["source_truncated"]], [row["score"]]),
    "translate_nbest": lambda row: (
        [text for text, length in zip(row["translation"], row["length"]) if length],
        [score for score, length in zip(row["score"], row["length"]) if length],
    ),
    "translate_aligned": lambda row: (
        [row["translation"], row["source_tokens"], row["target_tokens"]],
        [row["score"]],
    ),
    "score": lambda row: (
        [row["target_tokens"]],
        [row["log_probability"], *json.loads(row["token_log_probabilities"])],
    ),
    "sample": lambda row: ([row["translation"]], [row["log_probability"]]),
}
"""For each signature, the parts of a row of the answer that are compared.

Not compared: alignments, tokens and log-probabilities of n-best lists, and whether a text was cut,
except in ``translate``. Requests of ``tokenize`` only have to be answered.
"""


class PythonAnswers:
    """The Translator's answers in the form of READ; each is computed once."""

    def __init__(self, translator: Translator, profile: Profile) -> None:
        self.translator = translator
        self.profile = profile
        self._translations: dict[bytes, tuple[Translation, list[str]]] = {}

    def __call__(self, name: str, line: bytes, *others: Any) -> Compared:
        if name == "score":
            [pair] = self.translator.score_targets([line], [*others])
            logs = pair.token_log_probabilities.tolist()
            return [" ".join(pair.target_tokens).encode()], [pair.log_probability, *logs]
        if name == "sample":
            [[drawn]] = self.translator.sample(
                [line], 1, self.profile.temperature, seed=others[0] >> 32
            )
            return [drawn.text.encode()], [drawn.log_probability]
        best, source_tokens = self._translate(line)
        if name == "translate_nbest":
            return [each.text.encode() for each in best.nbest], [each.score for each in best.nbest]
        if name == "translate_aligned":
            source = " ".join(source_tokens[: self.profile.maximum_source_length])
            target = " ".join(best.tokens or ())
            return [best.text.encode(), source.encode(), target.encode()], [best.score]
        return [best.text.encode(), len(source_tokens) > self.profile.maximum_source_length], [
            best.score
        ]

    def _translate(self, line: bytes) -> tuple[Translation, list[str]]:
        """(translation, all tokens of the source)."""
        if line not in self._translations:
            [best] = self.translator.translate([line], self.profile.nbest)
            [tokens] = self.translator.source_text.tokenize([line]).to_list()
            self._translations[line] = best, [token.decode() for token in tokens]
        return self._translations[line]


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    logger = logging.getLogger("rnnsearch_tf")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _compare(
    folder: str | os.PathLike[str],
    name: str,
    request: tuple[Any, ...],
    got: Compared,
    expected: Compared,
    exact: bool,
) -> bool:
    """Compare an answer; unless `exact`, numbers are compared only if the texts are equal.

    Returns:
        False if it is a tie of an `exact` comparison: another text with the same scores.
    """
    tolerance = TOLERANCE if exact else 0.05
    near = len(got[1]) == len(expected[1]) and all(
        abs(a - b) <= tolerance * max(1.0, abs(b)) for a, b in zip(got[1], expected[1])
    )
    same = got[0] == expected[0]
    if (same or exact) and not near:
        raise UserError(
            f"{folder}: {name}: expected the Python model's answer {expected!r} to"
            f" {str(request)[:80]}, got {got!r}; the export would be wrong and is not published"
        )
    return same or not exact


def check_ties(place: str | os.PathLike[str], ties: int, compared: int) -> None:
    """Refuse an export with more ties than equal answers.

    The exported graph may add in another order than the Python model. Then rounding decides
    between hypotheses of the same score, which a model without much training has. Wrong text with
    right scores has another cause.

    Raises:
        UserError: more than half of the answers are ties.
    """
    if 2 * ties > compared:
        raise UserError(
            f"{place}: expected the Python model's answers, got other text with the same scores"
            f" for {ties:,} of {compared:,}; the export would be wrong and is not published"
        )
