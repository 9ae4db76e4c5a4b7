"""Ensembles: several models predict the next word together (Sutskever et al. 2014, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.output import OutputWeights, log_sum_exp
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest

COMBINATIONS = ("probabilities", "log_probabilities")


class Ensemble:
    """Combines the start and the step of its members; search, scoring and export use it like a
    model.

    The members' predictions are combined at every target position, see `combine`. The members may
    be of different systems, but must share the target vocabulary.

    Args:
        models: list of TranslationModel, at least one.
        combine: ``probabilities``: their mean; ``log_probabilities``: their geometric mean,
            normalized, so that the probabilities of all outputs sum to 1.
        source_indices: list of int, index of the source ids that each model reads, if members
            tokenize the source differently; the first is 0. None: all read the same ids.

    Attributes:
        has_attention: whether the alignments are meaningful.

    Raises:
        UsageError: there is no model, or `combine` is not one of the two.

    Example:
        Ensemble([model, other_model]).start(source_ids)
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        combine: str = "probabilities",
        source_indices: Sequence[int] | None = None,
    ) -> None:
        if combine not in COMBINATIONS:
            raise UsageError(f"combine: expected one of {', '.join(COMBINATIONS)}, got {combine!r}")
        self.models = list(models)
        if not self.models:
            raise UsageError("Ensemble: models: expected at least one model, got none")
        self.combine = combine
        self.source_indices = list(source_indices or [0] * len(self.models))
        self._aligners = [
            k
            for k, index in enumerate(self.source_indices)
            if index == 0 and self.models[k].has_attention
        ]
        self.has_attention = bool(self._aligners)
        self.target_vocabulary_size = self.models[0].target_vocabulary_size

    @property
    def trainable_variables(self) -> list[keras.Variable]:
        """The variables of all members."""
        return [variable for model in self.models for variable in model.trainable_variables]

    def start(self, source_ids: Nest) -> tuple[Nest, Nest]:
        """Encode the source with every member.

        Args:
            source_ids: int32 [B, J]; a tuple of them, with different J, if members tokenize the
                source differently.

        Returns:
            (state, memory): tuples with an entry for each member.
        """
        sources = source_ids if isinstance(source_ids, (tuple, list)) else (source_ids,)
        states, memories = zip(
            *(model.start(sources[index]) for model, index in zip(self.models, self.source_indices))
        )
        return states, memories

    def output_weights(
        self, words: tf.Tensor | None = None, split_k: int = 1
    ) -> list[OutputWeights]:
        """The output weights of the members, for :meth:`step`."""
        return [model.output_weights(words, split_k) for model in self.models]

    def step(
        self,
        previous_ids: tf.Tensor,
        state: Nest,
        memory: Nest,
        output: list[OutputWeights] | None = None,
        word_biases: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """The combined logits of the members; see search/interface.py and
        :class:`TranslationModel`.

        Returns:
            (logits float32 [B, K, V], alignment float32 [B, K, J], state). The alignment is the
            mean over the members that have attention and read the first source ids; zeros if there
            is none.
        """
        outputs: list[OutputWeights | None] = [*output] if output else [None] * len(self.models)
        steps = [
            model.step(previous_ids, model_state, model_memory, model_output, word_biases)
            for model, model_state, model_memory, model_output in zip(
                self.models, state, memory, outputs
            )
        ]
        logits, alignments, states = zip(*steps)
        aligned = [alignments[k] for k in self._aligners] or alignments[:1]
        return self._combined(tf.stack(logits)), tf.add_n(aligned) / len(aligned), states

    def _combined(self, logits: tf.Tensor) -> tf.Tensor:
        """Logits [members, B, K, V] → [B, K, V]."""
        if self.combine == "probabilities":
            log_probabilities = logits - log_sum_exp(logits, tf.nn.softmax(logits))[..., tf.newaxis]
            # the log of the mean differs by a constant, which logits may
            return tf.reduce_logsumexp(log_probabilities, axis=0)
        return tf.reduce_mean(logits, axis=0)
