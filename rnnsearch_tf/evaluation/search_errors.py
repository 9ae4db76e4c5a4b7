"""Search errors: sentences whose reference the model itself scores above what the search found."""

from __future__ import annotations

from rnnsearch_tf.config import UNKNOWN_ID
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.evaluation.bleu import bleu, tokenizer_for

TOLERANCE = 1e-4
"""A score is above another if it is by more than float32 can be wrong, nats."""


def search_errors(translator, sources, references, beam_sizes, lowercase=False, **search) -> dict:
    """The share of search errors by beam size.

    The score is what the search ranks by, log p / length^A. A reference with words that the model
    does not know has no score of its own; its sentence is left out here, but counts in BLEU.

    Args:
        translator: Translator.
        sources, references: list[str].
        beam_sizes: list of int.
        lowercase: BLEU without case.
        **search: options of the search section, as of ``Translator.translate``.

    Returns:
        {"sentences": those compared, "beams": [{"beam_size", "search_errors": their number,
        "share", "bleu": of all sentences}]}.

    Raises:
        UsageError: as of :func:`check_scores`.
    """
    config = translator.search_config(**search)
    check_scores(config)
    known = [UNKNOWN_ID not in ids for ids in translator.target_text.encode(references).to_list()]
    chosen = [k for k, (fits, source) in enumerate(zip(known, sources)) if fits and source.strip()]
    forced = translator.score_targets([sources[k] for k in chosen], [references[k] for k in chosen])
    beams = []
    for size in beam_sizes:
        found = translator.translate(sources, **{**search, "beam_size": size})
        errors = sum(
            _is_error(scored, found[k], config.length_penalty) for k, scored in zip(chosen, forced)
        )
        share = errors / len(chosen) if chosen else 0.0
        score = bleu(
            [translation.text for translation in found],
            references,
            tokenizer_for(translator.config.target),
            lowercase,
        ).score
        beams.append({"beam_size": size, "search_errors": errors, "share": share, "bleu": score})
    return {"sentences": len(chosen), "beams": beams}


def check_scores(config) -> None:
    """Raise UsageError where a SearchConfig scores otherwise than a reference is scored: among
    fewer words, or more than the words.
    """
    if config.coverage_penalty:
        raise UsageError(
            f"--search-errors: expected search.coverage_penalty 0, got {config.coverage_penalty:g},"
            " for which a reference has no score"
        )
    if config.shortlist:
        raise UsageError(
            f"--search-errors: expected no search.shortlist, got {config.shortlist}, whose"
            " probabilities are of fewer words than a reference's"
        )


def _is_error(reference, hypothesis, exponent) -> bool:
    score = reference.log_probability / (len(reference.target_tokens) + 1) ** exponent
    return reference.target_tokens != hypothesis.tokens and score > hypothesis.score + TOLERANCE
