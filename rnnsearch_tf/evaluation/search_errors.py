"""Search errors: sentences whose reference has a higher model score than the translation found."""

from __future__ import annotations

import fractions
import math
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.config import UNKNOWN_ID, SearchConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.evaluation.bleu import bleu, tokenizer_for

TOLERANCE = 1e-4
"""Score differences up to this many nats count as float32 rounding errors."""


def search_errors(
    translator: Any,
    sources: Sequence[str],
    references: Sequence[str],
    beam_sizes: Sequence[int],
    lowercase: bool = False,
    **search: Any,
) -> dict[str, Any]:
    """The share of search errors by beam size.

    Scores are those that the search ranks by, log p / length^A. A sentence is not compared, but
    counts in BLEU, if the search may not write its reference, or it has no score: with unknown
    words, beyond the model's maximum length, shorter or longer than the options of search allow, or
    with a repetition that ``no_repeat_ngram`` forbids.

    Args:
        translator: Translator.
        sources, references: one line for each sentence.
        beam_sizes: the beam sizes to compare.
        lowercase: compute BLEU without case.
        **search: options of the search section, as for ``Translator.translate``.

    Returns:
        {"sentences": number compared, "beams": [{"beam_size", "search_errors": number, "share",
        "bleu": of all sentences}]}.

    Raises:
        UsageError: as for :func:`check_scores`.
    """
    config = translator.search_config(**search)
    check_scores(config)
    rows = translator.target_text.encode(references).to_list()
    known = [UNKNOWN_ID not in ids for ids in rows]
    chosen = [k for k, (fits, source) in enumerate(zip(known, sources)) if fits and source.strip()]
    forced = translator.score_targets([sources[k] for k in chosen], [references[k] for k in chosen])
    compared = [
        (k, scored)
        for k, scored in zip(chosen, forced)
        if len(rows[k]) <= translator.maximum_lengths["target"] + 1
        and _may_write(rows[k], len(scored.source_tokens) + 1, config)
    ]
    tokenize = tokenizer_for(translator.config.target)
    beams = []
    for size in beam_sizes:
        found = translator.translate(sources, **{**search, "beam_size": size, "nbest": 1})
        errors = sum(_is_error(scored, found[k], config.length_penalty) for k, scored in compared)
        share = errors / len(compared) if compared else 0.0
        texts = [translation.text for translation in found]
        score = bleu(texts, references, tokenize, lowercase).score
        beams.append({"beam_size": size, "search_errors": errors, "share": share, "bleu": score})
    return {"sentences": len(compared), "beams": beams}


def _may_write(ids: list[int], source_length: int, config: SearchConfig) -> bool:
    """Whether the search allows a sentence; both lengths include the end symbol. The limits are
    those of search/hypotheses.py.
    """
    least, most = (
        math.floor(fractions.Fraction(ratio).limit_denominator(10_000) * source_length)
        for ratio in (config.minimum_length_ratio, config.maximum_length_ratio)
    )
    size = config.no_repeat_ngram
    ngrams = [tuple(ids[k : k + size]) for k in range(len(ids) - size + 1)] if size else []
    fits = least < len(ids) <= max(most + config.extra_length, 1)
    return fits and len(set(ngrams)) == len(ngrams)


def check_scores(config: SearchConfig) -> None:
    """Raise UsageError if the search has a coverage penalty or a shortlist, with which it scores
    translations differently from references.
    """
    if config.coverage_penalty:
        raise UsageError(
            f"--search-errors: expected search.coverage_penalty 0, got {config.coverage_penalty:g};"
            " references are scored without it, so set it to 0"
        )
    if config.shortlist:
        raise UsageError(
            f"--search-errors: expected no search.shortlist, got {config.shortlist}; references are"
            " scored with the whole vocabulary, so leave it out"
        )


def _is_error(reference: Any, hypothesis: Any, exponent: float) -> bool:
    """Whether a ScoredPair has a higher score than a Hypothesis with other tokens."""
    score = reference.log_probability / (len(reference.target_tokens) + 1) ** exponent
    if reference.target_tokens == hypothesis.tokens:
        return False
    return bool(score > hypothesis.score + TOLERANCE)
