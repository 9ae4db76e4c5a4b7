"""Ensembles: several models predict the next word together (Sutskever et al. 2014, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.output import log_sum_exp
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest


class Ensemble:
    """Combines the start and the step of its members; search, scoring and export use it like a
    model.

    At every target position, the probabilities are the mean of the members'. The members may be of
    different systems, but read the same source ids and share the target vocabulary.

    Args:
        models: TranslationModels, at least one.

    Attributes:
        has_attention: whether the alignments are meaningful.

    Raises:
        UsageError: there is no model.

    Example:
        Ensemble([model, other_model]).start(source_ids)
    """

    def __init__(self, models: Sequence[TranslationModel]) -> None:
        self.models = list(models)
        if not self.models:
            raise UsageError("Ensemble: models: expected at least one model, got none")
        self._aligners = [k for k, model in enumerate(self.models) if model.has_attention]
        self.has_attention = bool(self._aligners)
        self.target_vocabulary_size = self.models[0].target_vocabulary_size

    @property
    def trainable_variables(self) -> list[keras.Variable]:
        """The variables of all members."""
        return [variable for model in self.models for variable in model.trainable_variables]

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, Nest]:
        """Encode the source with every member.

        Args:
            source_ids: int32 [B, J].

        Returns:
            (state, memory): tuples with an entry for each member.
        """
        states, memories = zip(*(model.start(source_ids) for model in self.models))
        return states, memories

    def step(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """The combined logits of the members; see search/interface.py.

        Returns:
            (logits float32 [B, K, V], alignment float32 [B, K, J], state). The alignment is the
            mean over the members that have attention; zeros if none has.
        """
        steps = [
            model.step(previous_ids, model_state, model_memory)
            for model, model_state, model_memory in zip(self.models, state, memory)
        ]
        logits, alignments, states = zip(*steps)
        aligned = [alignments[k] for k in self._aligners] or alignments[:1]
        return _combined(tf.stack(logits)), tf.add_n(aligned) / len(aligned), states


def _combined(logits: tf.Tensor) -> tf.Tensor:
    """Logits [members, B, K, V] → [B, K, V], of the mean of the members' probabilities."""
    log_probabilities = logits - log_sum_exp(logits, tf.nn.softmax(logits))[..., tf.newaxis]
    # the log of the mean differs by a constant, which logits may
    return tf.reduce_logsumexp(log_probabilities, axis=0)
