"""Open a trained model, whatever its form on disk."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export.publishing import exported_version
from rnnsearch_tf.export.translator import ExportedTranslator
from rnnsearch_tf.translation import Translator


def open_translator(
    models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> Translator | ExportedTranslator:
    """Open a trained model for translation.

    Args:
        models: path of a RUN, path of an exported model (``DIR``, for its newest version, or
            ``DIR/N``), or name of a shipped model; or a list of RUNs and names, which form an
            ensemble.

    Returns:
        A Translator, or an ExportedTranslator, whose search options were fixed at export. Both have
        ``translate(texts, **search)`` and ``search_config(**search)``.

    Raises:
        UsageError: an exported model is in a list with others.
        UserError: the model does not exist, or is incomplete.

    Example:
        >>> open_translator("tatoeba-en-fr").translate(["My sister is a doctor."])[0].text
        'Ma sœur est médecin.'
    """
    names = [models] if isinstance(models, (str, os.PathLike)) else list(models)
    exported = next(filter(None, map(exported_version, names)), None)
    if exported and len(names) > 1:
        raise UsageError(
            f"expected RUNs for an ensemble, got the exported model {exported} among them; an"
            " ensemble is exported as one model, with rnnsearch export --model RUN --model RUN"
        )
    return ExportedTranslator(exported) if exported else Translator.load(names)
