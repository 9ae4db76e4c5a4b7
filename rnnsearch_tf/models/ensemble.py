"""Ensembles: several models predict the next word together (Sutskever et al. 2014, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.models.scoring import (
    TargetScores,
    mean_alignment,
    mean_log_probabilities,
    score_targets,
)
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.backend import Nest, keras


class Ensemble:
    """Combines the start and the step of its members; search, scoring and export use it like a
    model.

    At every target position, the probabilities are the mean of the members'. The members may be of
    different systems, but read the same source ids and share the target vocabulary.

    Args:
        models: TranslationModels, at least one.

    Attributes:
        has_attention: whether the alignments are meaningful.
        reads_source: whether any member does.
    """

    def __init__(self, models: Sequence[TranslationModel]) -> None:
        self.models = list(models)
        self.has_attention = any(model.has_attention for model in self.models)
        self.reads_source = any(model.reads_source for model in self.models)

    @property
    def weights(self) -> list[keras.Variable]:
        """The weights of all members."""
        return [weight for model in self.models for weight in model.weights]

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, Nest]:
        """(state, memory): tuples with an entry for each member."""
        states, memories = zip(*(model.start(source_ids) for model in self.models))
        return states, memories

    def step(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """See ``search.beam.Model``. The alignment is the mean over the members that have
        attention; zeros if none has.
        """
        steps = [
            model.step(previous_ids, model_state, model_memory)
            for model, model_state, model_memory in zip(self.models, state, memory)
        ]
        logits, alignments, states = zip(*steps)
        return mean_log_probabilities(logits), mean_alignment(self.models, alignments), states

    def score_targets(self, source_ids: tf.Tensor, target_ids: tf.Tensor) -> TargetScores:
        """As of a model: see :func:`~rnnsearch_tf.models.scoring.score_targets`."""
        return score_targets(self.models, source_ids, target_ids)
