"""What storing weights in fewer bits costs, measured on the development text of the run."""

from __future__ import annotations

from rnnsearch_tf.data.files import Pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import bleu

SENTENCES = 200
"""Development sentences that are translated twice."""


def cost_of_storage(translator, weights, profile) -> str | None:
    """BLEU before and after; afterwards the Translator computes with the weights as they are stored.

    Args:
        translator: Translator around the weights as trained.
        weights: StoredWeights.
        profile: Profile.

    Returns:
        A sentence with both figures, or saying why there are none; None where nothing is lost (float32).
    """
    if profile.weights == "float32":
        return None
    try:
        pairs = list(Pairs.from_config(translator.config, "development"))[:SENTENCES]
    except (UserError, OSError):
        pairs = []
    before = _bleu(translator, pairs) if pairs else None
    widened = weights.tensors()
    for variable in translator.model.trainable_variables:
        variable.assign(widened[id(variable)])
    if before is None:
        return f"{profile.weights} weights; their cost in BLEU was not measured: the run's development text is not here"
    after = _bleu(translator, pairs)
    return (
        f"{profile.weights} weights: BLEU {after.score:.2f}, with float32 weights {before.score:.2f}, "
        f"on {len(pairs)} development sentences ({after.signature})"
    )


def _bleu(translator, pairs):
    sources, references = (list(side) for side in zip(*pairs))
    translations = [translation.text for translation in translator.translate(sources)]
    return bleu(translations, references, lowercase=translator.config.target.lowercase)
