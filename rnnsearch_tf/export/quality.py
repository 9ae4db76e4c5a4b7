"""Measure the BLEU that an export loses by small weights and a shortlist, on the RUN's development
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import Score, bleu_of_model

if TYPE_CHECKING:
    from rnnsearch_tf.export.profile import Profile
    from rnnsearch_tf.export.weights import StoredWeights
    from rnnsearch_tf.translation import Translator

SENTENCES = 200
"""Development sentences that are translated twice."""

SHORTLIST = ("shortlist", "shortlist_frequent", "shortlist_translations")
"""Options of the search section for a shortlist."""


def cost_in_bleu(translator: Translator, weights: StoredWeights, profile: Profile) -> str | None:
    """Compare BLEU with the trained weights and with the exported ones.

    Afterwards the Translator's model has the weights as they are stored.

    Args:
        translator: Translator with the trained weights.
        weights: StoredWeights.
        profile: Profile.

    Returns:
        A sentence with both scores, or with the reason why there are none; None if nothing is lost
        (float32, no shortlist).
    """
    shortcuts = [f"{profile.weights} weights"] if profile.weights != "float32" else []
    shortcuts += ["a shortlist"] if profile.search.shortlist else []
    if not shortcuts:
        return None
    try:
        development = open_corpus(translator.config, "development")
        pairs = [] if development is None else list(development)[:SENTENCES]
    except (UserError, OSError):
        pairs = []
    before = _bleu(translator, pairs, shortlist=None) if pairs else None
    for variable, value in zip(translator.model.trainable_variables, weights.tensors()):
        variable.assign(value)
    what = " and ".join(shortcuts)
    if before is None:
        return (
            f"{what}; the cost in BLEU was not measured: the RUN's development text was not found"
        )
    after = _bleu(translator, pairs, **{name: getattr(profile.search, name) for name in SHORTLIST})
    return (
        f"{what}: BLEU {after.score:.2f}, without {before.score:.2f}, on {len(pairs)} development"
        f" sentences ({after.signature})"
    )


def _bleu(translator: Translator, pairs: Sequence[tuple[str, str]], **search: Any) -> Score:
    sources, references = (list(side) for side in zip(*pairs))
    translations = [translation.text for translation in translator.translate(sources, **search)]
    config = translator.config.target
    return bleu_of_model(translations, references, config)
