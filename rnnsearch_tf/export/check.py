"""What must hold before a SavedModel is published.

A fresh process loads it into a session and answers; the answers must be the Python
model's, whatever is asked and whatever else is in the batch.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.session import run_requests

TOLERANCE = 1e-5
"""Largest difference of a score, times its size where that is above 1."""

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


def check_export(folder, translator, profile, sentences, calibration=None) -> int:
    """Compare an exported model's answers with the Python model's.

    Asked: sentences of the model's own words, the empty line, odd Unicode, invalid UTF-8 and a
    line of 10,000 characters; in batches of 0, of 1, and of 64, each row at two different places.

    Args:
        folder: path of the SavedModel.
        translator: Translator around the very weights that are stored.
        profile: Profile.
        sentences: list[str].
        calibration: Calibration; None where the model has no signature ``confidence``.

    Returns:
        How many answers were compared.

    Raises:
        UserError: an answer differs (the message shows the first), or the model cannot be loaded.
    """
    lines = [*TRICKY, LONG, *(line.encode() for line in sentences)]
    batch = list(itertools.islice(itertools.cycle(lines), BATCH))
    requests = [("translate", {"text": []}), *(("translate", {"text": [line]}) for line in lines)]
    requests += [("translate", {"text": batch}), ("translate", {"text": batch[::-1]})]
    requests += [(name, _inputs(name, lines)) for name in profile.signatures if name != "translate"]
    try:
        answers = run_requests(folder, requests)
    except RuntimeError as error:
        raise UserError(
            f"{folder}: expected a SavedModel that loads in a session, got: {error}"
        ) from None
    compared = 0
    with _without_warnings():  # of overlong sentences, which are asked for on purpose
        reference = PythonAnswers(translator, profile, calibration)
        for (name, inputs), answer in zip(requests, answers):
            if isinstance(answer, str):
                raise UserError(f"{folder}: {name}: expected an answer, got the error: {answer}")
            if name not in READ:
                continue
            for row, asked in enumerate(zip(*inputs.values())):
                got = READ[name]({key: values[row] for key, values in answer.items()})
                _compare(
                    folder,
                    name,
                    asked,
                    got,
                    reference(name, *asked),
                    profile.precision == "float32",
                )
                compared += 1
    return compared


def _inputs(name, lines):
    if name in ("score", "confidence"):
        return {"source": lines, "target": lines[::-1]}
    if name == "translate_constrained":
        return {"text": lines, "constraints": [_phrases(line) for line in lines[::-1]]}
    # Translator.sample numbers the samples of a sentence in the lower half of the seed.
    return (
        {"text": lines, "seed": [k << 32 for k in range(len(lines))]}
        if name == "sample"
        else {"text": lines}
    )


def _phrases(line):
    """The first two words of a line of the model's own words, the first word of a tricky one.

    Two words that the model does not know are the same to it, so that their order in a translation
    is a matter of rounding.
    """
    return b"\t".join(line.split()[: 1 if line in TRICKY else 2])


READ = {
    "translate": lambda row: ([row["translation"], row["source_truncated"]], [row["score"]]),
    "translate_nbest": lambda row: (
        [text for text, length in zip(row["translation"], row["length"]) if length],
        [score for score, length in zip(row["score"], row["length"]) if length],
    ),
    "translate_aligned": lambda row: (
        [row["translation"], row["source_tokens"], row["target_tokens"]],
        [row["score"]],
    ),
    "translate_constrained": lambda row: (
        [row["translation"], row["source_truncated"]],
        [row["score"]],
    ),
    "score": lambda row: ([], [row["log_probability"]]),
    "confidence": lambda row: (
        [row["words"]],
        [row["confidence"], *json.loads(row["word_confidences"])],
    ),
    "sample": lambda row: ([row["translation"]], [row["log_probability"]]),
}
"""What is compared of a row of an answer: (what must be the same, numbers that must be near)."""


class PythonAnswers:
    """The Translator's answers, in the form of READ; each is computed once."""

    def __init__(self, translator, profile, calibration):
        self.translator = translator
        self.profile = profile
        self.calibration = calibration
        self._translations = {}

    def __call__(self, name, line, *others):
        if name == "score":
            return [], self.translator.score([line], [*others])
        if name == "confidence":
            target = others[0].decode("utf-8", "replace")
            [answer] = self.calibration(self.translator, [line], [target])
            return [" ".join(target.split()).encode()], [
                answer.sentence,
                *(p for _, p in answer.words),
            ]
        if name == "sample":
            [[drawn]] = self.translator.sample(
                [line], 1, self.profile.temperature, seed=others[0] >> 32
            )
            return [drawn.text.encode()], [drawn.log_probability]
        best, source_tokens = self._translate(line, *others)
        if name == "translate_nbest":
            return [each.text.encode() for each in best.nbest], [each.score for each in best.nbest]
        if name == "translate_aligned":
            source_tokens = " ".join(source_tokens[: self.profile.maximum_source_length])
            return [best.text.encode(), source_tokens.encode(), " ".join(best.tokens).encode()], [
                best.score
            ]
        return [best.text.encode(), len(source_tokens) > self.profile.maximum_source_length], [
            best.score
        ]

    def _translate(self, line, constraints=b""):
        """(Translation, all tokens of the source)."""
        asked = line, constraints
        if asked not in self._translations:
            [best] = self.translator.translate(
                [line], [constraints.split(b"\t")], **self.profile.search_options
            )
            [tokens] = self.translator.source_text.tokenize([line]).to_list()
            self._translations[asked] = best, [token.decode() for token in tokens]
        return self._translations[asked]


@contextlib.contextmanager
def _without_warnings():
    logger = logging.getLogger("rnnsearch_tf")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _compare(folder, name, asked, got, expected, exact):
    """All of it; in bfloat16 only that the numbers are near where the texts are the same."""
    tolerance = TOLERANCE if exact else 0.05
    near = all(abs(a - b) <= tolerance * max(1.0, abs(b)) for a, b in zip(got[1], expected[1]))
    if (exact and got[0] != expected[0]) or (got[0] == expected[0] and not near):
        raise UserError(
            f"{folder}: {name}: expected the Python model's answer {expected!r} to"
            f" {str(asked)[:80]}, got {got!r}; the export would be wrong and is not published"
        )
