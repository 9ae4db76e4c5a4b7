"""BLEU, chrF and TER, computed by sacreBLEU and reported with its signatures.

The papers report multi-bleu.perl on tokenized text; that is
`bleu(..., tokenize="none")` on tokens joined by spaces. Everything else here is on
detokenized text with sacreBLEU's own tokenization (13a; see :func:`tokenizer_for`).
"""

from __future__ import annotations

import dataclasses
import functools

import sacrebleu

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text import languages


@dataclasses.dataclass(frozen=True)
class Score:
    """A corpus score: its name, its score in percent, sacreBLEU's signature of how it was computed."""

    name: str
    score: float
    signature: str
    details: str

    def __str__(self):
        return f"{self.name} {self.score:.2f}"


def tokenizer_for(config: TextConfig) -> str:
    """sacreBLEU's tokenizer for detokenized text of a side: 13a cuts at spaces and signs, which a script without spaces lacks.

    Args:
        config: TextConfig. Under ``tokenization: space`` the text is tokens already, and 13a leaves them as they are.

    Returns:
        ``13a``; ``zh`` for Chinese, ``char``, every character a token, for other languages without spaces between words.

    Example:
        >>> tokenizer_for(TextConfig(language="ja", tokenization="sentencepiece"))
        'char'
    """
    language = languages.base(config.language)
    if config.tokenization == "space" or language not in languages.UNSEGMENTED:
        return "13a"
    return "zh" if language in languages.CHINESE else "char"


def metrics(lowercase=False, tokenize="13a") -> dict:
    """{"bleu", "chrf", "ter": sacreBLEU's metric for detokenized text}; lowercase: compare without case; tokenize: for BLEU."""
    return {
        "bleu": sacrebleu.BLEU(lowercase=lowercase, tokenize=tokenize),
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
        "ter": sacrebleu.TER(case_sensitive=not lowercase),
    }


@functools.cache
def _bleu_metric(tokenize, lowercase):
    """One for all evaluations of a training: sacreBLEU keeps the lines that a metric has tokenized, and every new metric keeps them again."""
    # tokenize="none" is meant to be run on tokens: `force` keeps sacreBLEU from warning about it.
    return sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")


def bleu(hypotheses, references, tokenize="13a", lowercase=False) -> Score:
    """BLEU of a corpus, in percent.

    Args:
        hypotheses: list[str], one translation each.
        references: list[str], as many.
        tokenize: sacreBLEU tokenizer: ``none`` for tokens joined by spaces; for detokenized text see :func:`tokenizer_for`.
        lowercase: compare without case; the signature says so.

    Returns:
        Score; `details` holds the n-gram precisions and the brevity penalty.

    Raises:
        UserError: the lists differ in length or are empty.

    Example:
        >>> bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).score > 99.9
        True
    """
    _check(hypotheses, references)
    return _score(_bleu_metric(tokenize, lowercase), "BLEU", hypotheses, references)


def chrf(hypotheses, references, lowercase=False) -> Score:
    """chrF2 of a corpus, in percent; arguments and errors as for `bleu`."""
    _check(hypotheses, references)
    return _score(metrics(lowercase)["chrf"], "chrF2", hypotheses, references)


def ter(hypotheses, references, lowercase=False) -> Score:
    """TER of a corpus, in percent, lower is better; arguments and errors as for `bleu`. Case counts here too, as the signature says."""
    _check(hypotheses, references)
    return _score(metrics(lowercase)["ter"], "TER", hypotheses, references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of one sentence, in percent."""
    return sacrebleu.sentence_chrf(hypothesis, [reference]).score


def _check(hypotheses, references):
    if len(hypotheses) != len(references):
        raise UserError(f"expected as many references as translations, got {len(references)} and {len(hypotheses)}")
    if not hypotheses:
        raise UserError("expected at least one sentence to evaluate, got none")


def _score(metric, name, hypotheses, references) -> Score:
    result = metric.corpus_score(hypotheses, [references])
    return Score(name, result.score, str(metric.get_signature()), getattr(result, "verbose", "") or "")
