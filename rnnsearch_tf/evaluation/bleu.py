"""BLEU, chrF and TER, computed by sacreBLEU and reported with its signatures.

The papers report multi-bleu.perl on tokenized text; that is
`bleu(..., tokenize="none")` on tokens joined by spaces. Everything else here is on
detokenized text with sacreBLEU's own tokenization (13a; see :func:`tokenizer_for`).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import unicodedata

import sacrebleu

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text import languages

log = logging.getLogger("rnnsearch_tf")


@dataclasses.dataclass(frozen=True)
class Score:
    """A corpus score: its name, the score in percent, and how sacreBLEU says it was computed."""

    name: str
    score: float
    signature: str
    details: str

    def __str__(self):
        return f"{self.name} {self.score:.2f}"


def tokenizer_for(config: TextConfig) -> str:
    """sacreBLEU's tokenizer for detokenized text of a side: 13a cuts at spaces and signs, which a
    script without spaces lacks.

    Args:
        config: TextConfig. Under ``tokenization: space`` the text is tokens already, and 13a leaves
            them as they are.

    Returns:
        ``13a``; ``zh`` for Chinese, ``char``, every character a token, for other languages without
        spaces between words.

    Example:
        >>> tokenizer_for(TextConfig(language="ja", tokenization="sentencepiece"))
        'char'
    """
    language = languages.base(config.language)
    if config.tokenization == "space" or language not in languages.UNSEGMENTED:
        return "13a"
    return "zh" if language in languages.CHINESE else "char"


def metrics(lowercase=False, tokenize="13a") -> dict:
    """{"bleu", "chrf", "ter": sacreBLEU's metric for detokenized text}; lowercase: compare without
    case; tokenize: for BLEU.
    """
    return {
        "bleu": _new_bleu(tokenize, lowercase),
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
        "ter": sacrebleu.TER(case_sensitive=not lowercase),
    }


def _new_bleu(tokenize, lowercase):
    # `force` keeps sacreBLEU from warnings about text that looks tokenized, which name an option of
    # its own program.
    return sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


@functools.cache
def _bleu_metric(tokenize, lowercase):
    """One for all evaluations of a training: sacreBLEU keeps the lines that a metric has tokenized,
    and every new metric keeps them again.
    """
    return _new_bleu(tokenize, lowercase)


def streams(references) -> list:
    """References as sacreBLEU takes them: list[str] of one reference a sentence, or a list of
    several such lists -> list of list[str].
    """
    references = list(references)
    if all(isinstance(line, str) for line in references):
        return [references]
    return [list(lines) for lines in references]


def chosen_references(references, members) -> list:
    """The references of the sentences with these numbers, as :func:`streams` gives them."""
    return [[lines[k] for k in members] for lines in streams(references)]


def in_target_form(lines, config: TextConfig) -> tuple:
    """Lines in the Unicode normal form that the model writes, as its references have to be: `é` of
    one and of two code points differ otherwise.

    Args:
        lines: list[str].
        config: TextConfig of the target side; its `unicode_form` is taken.

    Returns:
        (list[str], how many lines have changed).
    """
    from rnnsearch_tf.text.pipeline import in_form  # with TensorFlow, which takes its seconds

    formed = in_form(lines, config.unicode_form)
    return formed, sum(new != old for new, old in zip(formed, lines))


def bleu_of_model(translations, references, config: TextConfig) -> Score:
    """BLEU of what a model wrote, as :func:`bleu`: cut as its target language is written, the
    references in its Unicode normal form, and without case where it cannot write capitals.

    Args:
        translations, references: list[str].
        config: TextConfig of the target side.
    """
    references, changed = in_target_form(references, config)
    if changed:
        _say_changed(changed, len(references), config.unicode_form)
    return bleu(translations, references, tokenizer_for(config), config.lowercase)


def bleu(hypotheses, references, tokenize="13a", lowercase=False) -> Score:
    """BLEU of a corpus, in percent.

    Args:
        hypotheses: list[str], one translation each.
        references: list[str], as many; or a list of several such lists, as a sentence may have
            several references. They are taken as they are; a warning says so once where their
            Unicode normal form is not that of the translations.
        tokenize: sacreBLEU tokenizer: ``none`` for tokens joined by spaces; for detokenized text
            see :func:`tokenizer_for`.
        lowercase: compare without case; the signature says so.

    Returns:
        Score; `details` holds the n-gram precisions and the brevity penalty.

    Raises:
        UserError: the lists differ in length or are empty.

    Example:
        >>> bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).score > 99.9
        True
    """
    return _score(_bleu_metric(tokenize, lowercase), "BLEU", hypotheses, references)


def chrf(hypotheses, references, lowercase=False) -> Score:
    """chrF2 of a corpus, in percent; arguments and errors as for `bleu`."""
    return _score(metrics(lowercase)["chrf"], "chrF2", hypotheses, references)


def ter(hypotheses, references, lowercase=False) -> Score:
    """TER of a corpus, in percent, lower is better; arguments and errors as for `bleu`. Case counts
    here too, as the signature says.
    """
    return _score(metrics(lowercase)["ter"], "TER", hypotheses, references)


def sentence_chrf(hypothesis: str, *references: str) -> float:
    """chrF2 of one sentence, in percent; of several references the best."""
    return sacrebleu.sentence_chrf(hypothesis, references).score


def check_references(hypotheses, references) -> list:
    """The references as :func:`streams` gives them.

    Raises:
        UserError: there are not as many as translations, or none.
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
    if (
        len(
            {
                all(unicodedata.is_normalized("NFC", line) for line in lines)
                for lines in (hypotheses, *lists)
            }
        )
        > 1
    ):
        _warn_of_forms()
    return lists


@functools.cache
def _say_changed(changed, lines, form):
    log.warning(
        "warning: %d of %d references are compared in %s (target.unicode_form), in which the model"
        " writes; sacreBLEU gives another score on the references as they stand",
        changed,
        lines,
        form,
    )


@functools.cache
def _warn_of_forms():
    log.warning(
        "warning: translations and references are not all in one Unicode normal form, and é of one"
        " and of two code points count as different; bring both to NFC first"
    )


def _score(metric, name, hypotheses, references) -> Score:
    result = metric.corpus_score(hypotheses, check_references(hypotheses, references))
    return Score(
        name, result.score, str(metric.get_signature()), getattr(result, "verbose", "") or ""
    )
