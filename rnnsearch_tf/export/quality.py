"""Measure the BLEU that an export loses by small weights and a shortlist, on the RUN's development
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import bleu_of_model

if TYPE_CHECKING:
    from rnnsearch_tf.export.profile import Profile
    from rnnsearch_tf.export.weights import StoredWeights
    from rnnsearch_tf.translation import Translator

SENTENCES = 200
"""Development sentences that are translated twice."""


def cost_in_bleu(translator: Translator, weights: StoredWeights, profile: Profile) -> str | None:
    """Compare BLEU with the trained weights and with the exported ones.

    Afterwards the Translator's model has the weights as they are stored.

    Args:
        translator: Translator with the trained weights and the search of the profile.

    Returns:
        A sentence with both scores, or with the reason why there are none; None if nothing is lost
        (float32, no shortlist).
    """
    if not (what := shortcuts(profile)):
        return None
    pairs = development_pairs(translator)
    sources = [source for source, _ in pairs]
    before = _texts(translator, sources, shortlist=None)
    for variable, value in zip(translator.model.trainable_variables, weights.tensors()):
        variable.assign(value)
    after = _texts(translator, sources)
    return cost_sentence(what, translator, pairs, before, after)


def shortcuts(profile: Profile) -> str:
    """What an export does to save space or time, for a message; empty if nothing."""
    small = [f"{profile.weights} weights"] if profile.weights != "float32" else []
    return " and ".join([*small, *(["a shortlist"] if profile.search.shortlist else [])])


def development_pairs(translator: Translator) -> list[tuple[str, str]]:
    """The first pairs of the RUN's development text; none if it is not found."""
    try:
        development = open_corpus(translator.config, "development")
        return [] if development is None else list(development)[:SENTENCES]
    except (UserError, OSError):
        return []


def cost_sentence(
    what: str,
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    before: Sequence[str],
    after: Sequence[str],
) -> str:
    """A sentence with BLEU before and after, or with the reason why there is none.

    Args:
        what: what the export does to save space or time.
        pairs: development pairs.
        before, after: translations of their sources without and with it.
    """
    if not pairs:
        return (
            f"{what}; the cost in BLEU was not measured: the RUN's development text was not found"
        )
    references = [reference for _, reference in pairs]
    config = translator.config.target
    old, new = (bleu_of_model(list(texts), references, config) for texts in (before, after))
    return (
        f"{what}: BLEU {new.score:.2f}, without {old.score:.2f}, on {len(pairs)} development"
        f" sentences ({new.signature})"
    )


def _texts(translator: Translator, sources: Sequence[str], **search: Any) -> list[str]:
    return [translation.text for translation in translator.translate(sources, **search)]
