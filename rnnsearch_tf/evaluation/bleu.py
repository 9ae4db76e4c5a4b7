"""BLEU, chrF and TER, computed by sacreBLEU and reported with its signatures.

The papers report multi-bleu.perl on tokenized text; that is
`bleu(..., tokenize="none")` on tokens joined by spaces. It differs from the script in three cases:

- An order without a right n-gram: the script says 0, sacreBLEU smooths (``smooth:exp``).
- ``lowercase``: the script's -lc changes the letters A to Z alone, sacreBLEU also É to é.
- No-break spaces in a token: the script keeps them, sacreBLEU cuts there. No tokenization of this
  package leaves one in a token.

Everything else here is on detokenized text with sacreBLEU's own tokenization (13a; see
:func:`tokenizer_for`).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import sacrebleu

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text import languages

_warn_once = functools.cache(logging.getLogger("rnnsearch_tf").warning)

References = Iterable[str] | Iterable[Sequence[str]]
"""One reference for each sentence, or several lists of such references."""


SCALE = {
    10: "mostly unusable: too little text, or too short a training",
    20: "good enough to recognize the topic",
    30: "often clear in meaning, with serious errors",
    40: "understandable; usable with corrections",
    50: "good",
    100: "very good, or the text is short and repetitive",
}
"""What a BLEU score below each of these means, for one reference and ordinary text: a rule of
thumb, with the words of docs/glossary.md.
"""


def meaning(score: float) -> str:
    """What a BLEU score means, in words.

    Example:
        >>> meaning(0.42), meaning(43.1)
        ('mostly unusable: too little text, or too short a training', 'good')
    """
    return next((words for limit, words in SCALE.items() if score < limit), SCALE[100])


@dataclasses.dataclass(frozen=True)
class Score:
    """A corpus score in percent, with its name and its sacreBLEU signature."""

    name: str
    score: float
    signature: str
    details: str

    def __str__(self) -> str:
        return f"{self.name} {self.score:.2f}"


def tokenizer_for(config: TextConfig) -> str:
    """sacreBLEU's tokenizer for detokenized text of a side.

    13a splits at spaces and punctuation, so it cannot be used for scripts without spaces.

    Args:
        config: options of the side. With ``tokenization: space`` the text consists of tokens, which
            13a keeps.

    Returns:
        ``13a``; for languages without spaces between words ``zh`` (Chinese) or ``char``, which
        makes each character a token (others).

    Example:
        >>> tokenizer_for(TextConfig(language="ja", tokenization="sentencepiece"))
        'char'
    """
    language = languages.base(config.language)
    if config.tokenization == "space" or language not in languages.UNSEGMENTED:
        return "13a"
    return "zh" if language in languages.CHINESE else "char"


def metrics(lowercase: bool = False, tokenize: str = "13a") -> dict[str, Any]:
    """sacreBLEU's metrics for detokenized text, by name: "bleu", "chrf" and "ter".

    Args:
        lowercase: compare without case.
        tokenize: sacreBLEU's tokenizer for BLEU. TER, too, is of characters with ``zh`` and
            ``char``.
    """
    return {
        "bleu": _new_bleu(tokenize, lowercase),
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
        "ter": _new_ter(tokenize, lowercase),
    }


def _new_ter(tokenize: str, lowercase: bool) -> sacrebleu.TER:
    zh = tokenize == "zh"
    metric = sacrebleu.TER(case_sensitive=not lowercase, normalized=zh, asian_support=zh)
    if tokenize == "char":
        # sacreBLEU's rules for TER cut Chinese characters alone: no kana, no Thai
        metric.tokenizer = lambda line: " ".join(line.lower() if lowercase else line)
        metric.tokenizer_signature = "char"
    return metric


def _new_bleu(tokenize: str, lowercase: bool) -> sacrebleu.BLEU:
    # `force` suppresses sacreBLEU's warning about tokenized text, which refers to an option of its
    # command line.
    return sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


@functools.cache
def _bleu_metric(tokenize: str, lowercase: bool) -> sacrebleu.BLEU:
    """The metric shared by all evaluations of a training: each sacreBLEU metric caches the lines it
    has tokenized, so new metrics would cache them again.
    """
    return _new_bleu(tokenize, lowercase)


def streams(references: References) -> list[list[str]]:
    """References as sacreBLEU takes them: one list for each set of references."""
    lists = list(references)
    lines_of_one = [line for line in lists if isinstance(line, str)]
    if len(lines_of_one) == len(lists):
        return [lines_of_one]
    return [list(lines) for lines in lists]


def chosen_references(references: References, members: Iterable[int]) -> list[list[str]]:
    """The references of the sentences with these numbers, in the form of :func:`streams`."""
    return [[lines[k] for k in members] for lines in streams(references)]


def in_target_form(lines: Sequence[str], config: TextConfig) -> tuple[list[str], int]:
    """Convert references to the Unicode normal form in which the model writes, and remove the
    invisible characters that it lacks; otherwise `é` as one and as two code points would differ.

    Args:
        lines: the references.
        config: options of the target side, with `unicode_form` and `remove_invisible`.

    Returns:
        (converted lines, number of lines that changed).
    """
    import tensorflow as tf  # takes seconds

    from rnnsearch_tf.text.pipeline import normalize

    texts = normalize(tf.constant(lines, tf.string), config.unicode_form, config.remove_invisible)
    formed = [text.decode("utf-8") for text in texts.numpy()]
    return formed, sum(new != old for new, old in zip(formed, lines))


def bleu_of_model(
    translations: Sequence[str], references: Sequence[str], config: TextConfig
) -> Score:
    """BLEU of a model's translations.

    The tokenizer fits the target language. The references are converted by :func:`in_target_form`.
    Case is ignored if the model is lowercase.

    Args:
        translations, references: one line for each sentence.
        config: options of the target side.
    """
    references, changed = in_target_form(references, config)
    if changed:
        _warn_once(
            "warning: %d of %d references were brought to the form in which the model writes"
            " (target.unicode_form, target.remove_invisible); sacreBLEU gives another score on the"
            " original references",
            changed,
            len(references),
        )
    return bleu(translations, references, tokenizer_for(config), config.lowercase)


def bleu(
    hypotheses: Sequence[str],
    references: References,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Score:
    """BLEU of a corpus, in percent.

    Args:
        hypotheses: one translation for each sentence.
        references: one reference for each sentence, or a list of several such lists. They are not
            normalized; a warning is logged once if their Unicode normal form differs from that of
            the translations.
        tokenize: sacreBLEU tokenizer: ``none`` for tokens joined by spaces; for detokenized text
            see :func:`tokenizer_for`.
        lowercase: compare without case; the signature records it.

    Returns:
        Score; `details` holds the n-gram precisions and the brevity penalty.

    Raises:
        UserError: the lists differ in length or are empty.

    Example:
        >>> bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).score > 99.9
        True
    """
    return _score(_bleu_metric(tokenize, lowercase), "BLEU", hypotheses, references)


def chrf(hypotheses: Sequence[str], references: References, lowercase: bool = False) -> Score:
    """chrF2 of a corpus, in percent; arguments and errors as for `bleu`."""
    return _score(metrics(lowercase)["chrf"], "chrF2", hypotheses, references)


def ter(
    hypotheses: Sequence[str],
    references: References,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Score:
    """TER of a corpus, in percent, lower is better; arguments and errors as for `bleu`. Case counts
    by default, as in the signature.

    With ``tokenize`` ``zh`` or ``char`` the edits are of characters (see :func:`tokenizer_for`),
    otherwise of words between spaces.
    """
    return _score(_new_ter(tokenize, lowercase), "TER", hypotheses, references)


def sentence_chrf(hypothesis: str, *references: str) -> float:
    """chrF2 of one sentence, in percent; the best score over its references."""
    return float(sacrebleu.sentence_chrf(hypothesis, references).score)


def check_references(hypotheses: Sequence[str], references: References) -> list[list[str]]:
    """Check the references and return them in the form of :func:`streams`.

    Raises:
        UserError: the numbers of references and translations differ, or there are none.
    """
    lists = streams(references)
    for lines in lists:
        if len(hypotheses) != len(lines):
            raise UserError(
                f"expected as many references as translations, got {len(lines)} and"
                f" {len(hypotheses)}"
            )
    if not hypotheses:
        raise UserError("expected at least one sentence to evaluate, got none")
    composed = {
        all(unicodedata.is_normalized("NFC", line) for line in lines)
        for lines in (hypotheses, *lists)
    }
    if len(composed) > 1:
        _warn_once(
            "warning: translations and references differ in their Unicode normal form, so é as one"
            " and as two code points count as different; convert both to NFC first"
        )
    return lists


def _score(metric: Any, name: str, hypotheses: Sequence[str], references: References) -> Score:
    result = metric.corpus_score(hypotheses, check_references(hypotheses, references))
    return Score(
        name, result.score, str(metric.get_signature()), getattr(result, "verbose", "") or ""
    )
