"""One door to a trained model, in whichever form it is on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export.publishing import exported_version
from rnnsearch_tf.export.translator import ExportedTranslator
from rnnsearch_tf.translation import Translator


def open_translator(
    models: str | os.PathLike | Sequence[str | os.PathLike], combine: str = "probabilities"
) -> Translator | ExportedTranslator:
    """What translates text with a trained model.

    Args:
        models: path of a RUN, path of an exported model (``DIR``, for its newest version, or
            ``DIR/N``), or name of a model that comes with the program; or a list of RUNs and
            names, which translate together as an ensemble.
        combine: how an ensemble's members are combined, see
            :class:`~rnnsearch_tf.models.ensemble.Ensemble`.

    Returns:
        A Translator, or an ExportedTranslator, which searches as it was exported. Both have
        ``translate(texts, **search)`` and ``search_config(**search)``.

    Raises:
        UsageError: an exported model stands in a list with others.
        UserError: there is no such model, or it is incomplete.

    Example:
        >>> open_translator("tatoeba-en-fr").translate(["My sister is a doctor."])[0].text
        'Ma sœur est médecin.'
    """
    names = [models] if isinstance(models, (str, os.PathLike)) else list(models)
    exported = [name for name in names if exported_version(name)]
    if exported and len(names) > 1:
        raise UsageError(
            f"expected RUNs for an ensemble, got the exported model {exported[0]} among them; an"
            " ensemble is exported as one model, with rnnsearch export --model RUN --model RUN"
        )
    if exported:
        return ExportedTranslator(exported_version(names[0]))
    return Translator.load(names, combine=combine)
