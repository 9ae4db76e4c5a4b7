"""What an export's shortcuts cost, weights in fewer bits and a shortlist, measured on the
development text of the run.
"""

from __future__ import annotations

from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.bleu import bleu_of_model

SENTENCES = 200
"""Development sentences that are translated twice."""

SHORTLIST = ("shortlist", "shortlist_frequent", "shortlist_translations")
"""The options of the search section that make one."""


def cost_in_bleu(translator, weights, profile) -> str | None:
    """BLEU before and after; afterwards the Translator computes with the weights as they are
    stored.

    Args:
        translator: Translator around the weights as trained.
        weights: StoredWeights.
        profile: Profile.

    Returns:
        A sentence with both figures, or saying why there are none; None where nothing is lost
        (float32, no shortlist).
    """
    shortcuts = [f"{profile.weights} weights"] if profile.weights != "float32" else []
    shortcuts += ["a shortlist"] if profile.search.shortlist else []
    if not shortcuts:
        return None
    try:
        pairs = list(open_corpus(translator.config, "development"))[:SENTENCES]
    except (UserError, OSError):
        pairs = []
    before = _bleu(translator, pairs, shortlist=None) if pairs else None
    for variable, value in zip(translator.model.trainable_variables, weights.tensors()):
        variable.assign(value)
    what = " and ".join(shortcuts)
    if before is None:
        return f"{what}; the cost in BLEU was not measured: the run's development text is not here"
    after = _bleu(translator, pairs, **{name: getattr(profile.search, name) for name in SHORTLIST})
    return (
        f"{what}: BLEU {after.score:.2f}, without {before.score:.2f}, on {len(pairs)} development"
        f" sentences ({after.signature})"
    )


def _bleu(translator, pairs, **search):
    sources, references = (list(side) for side in zip(*pairs))
    translations = [translation.text for translation in translator.translate(sources, **search)]
    config = translator.config.target
    return bleu_of_model(translations, references, config)
