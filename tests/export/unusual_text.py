"""Lines of unusual text, and text settings, on which every program must split text alike."""

from __future__ import annotations

import random

from rnnsearch_tf.config import TextConfig, load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.export.check import LONG, TRICKY
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.characters import BLANK_CHARACTERS
from rnnsearch_tf.text.pipeline import Text, build_text, load_texts

SIGNS = [
    *BLANK_CHARACTERS,
    *"aAßİıΣσ.,'’-½²ﬁＡ①日本語かなカナ한국어שלוםمرحباकि",
    *"\u0301\u0328\u0327\u0300\u05b8\u0651\u20dd\u200c\u200d\u0000\u0007\u001b\u007f\u0085",
    *["🙂", "👩\u200d👩\u200d👧", "🇫🇷", "▁", "<unk>", "</s>", "<pad>", " ", "\r", "\ufffd", "𝐀"],
]


def lines() -> list[bytes]:
    """Sentences, tricky lines, and random ones of tricky signs and of random bytes."""
    rng = random.Random(1)
    sentences = phrasebook(300, "train")
    texts = [
        *sentences[0],
        *sentences[1],
        *(f"a{space}b{space}{space} c{space}" for space in BLANK_CHARACTERS),
        "日本語の文、です。かなカナ 한국어 文字",
        "windows line end\r",
        "e\u0301" + "\u0301" * 60 + "x" + "\u0328\u0301" * 40,
        "ΟΔΥΣΣΕΥΣ. ΑΣ ΣΑΣ Σ",
        *("".join(rng.choices(SIGNS, k=rng.randint(1, 25))) for _ in range(600)),
    ]
    noise = (
        b"".join(rng.choices([b"\xc3\xa9", b"\xe2\x82", b"\xff", b"\xed\xa0\x80", b"a", b" "], k=9))
        for _ in range(100)
    )
    return [*TRICKY, LONG, *(text.encode() for text in texts), *noise]


RUNS_OF_SIGNS = [(sign * n).encode() for sign in [*".!(1", "ha", "ha ha "] for n in range(2, 30)]
"""Of several segmentations with the same probability, sentencepiece takes another from 0.2.2 on."""

LINES = lines()
TRAINING = [line.decode("utf-8", "replace") for line in LINES[: len(TRICKY) + 400]]
CONFIGS = {
    "subwords": TextConfig(tokenization="sentencepiece", vocabulary_size=500),
    "subwords, lower case": TextConfig(
        tokenization="sentencepiece", vocabulary_size=500, lowercase=True
    ),
    "words": TextConfig(language="fr", tokenization="space", vocabulary_size=300),
    "words, lower case": TextConfig(tokenization="space", lowercase=True),
}


SHIPPED = "shipped"


def text_of(name: str) -> Text:
    """The Text of a key of CONFIGS, or that of the shipped model's source."""
    if name == SHIPPED:
        run = Run.open("tatoeba-en-fr")
        return load_texts(run, load_config(run.config))[0]
    return build_text(CONFIGS[name], TRAINING)
