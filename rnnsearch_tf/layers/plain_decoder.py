"""The decoder's recurrence with any unit and any attention, or none; differentiated by TensorFlow where there is attention.

Look, then update, as in ``decoder.py``:

    c_i, α_i = attention(s_{i−1})
    s_i = unit(E y, s_{i−1}, c_i)
"""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.attention import BahdanauAttention
from rnnsearch_tf.layers.base import PaperLayer, real_positions, tensor
from rnnsearch_tf.layers.coverage import CoverageAttention
from rnnsearch_tf.layers.fixed_context import FixedContext
from rnnsearch_tf.layers.gaussian_window import GaussianWindow
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import batched_product, product
from rnnsearch_tf.layers.recurrent_stack import over_positions
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.layers.scan import scan

ATTENTIONS = {"content": BahdanauAttention, "coverage": CoverageAttention, "gaussian_window": GaussianWindow}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class PlainDecoder(PaperLayer):
    """The recurrent decoder without its output layer; what ``Decoder`` does by hand for one unit and one attention.

    Args:
        hidden_size: n.
        attention: ``content``, ``coverage``, ``gaussian_window``, or None for the fixed context of RNNencdec.
        alignment_size: n', hidden units of the alignment model, or the number of Gaussian windows.
        unit: ``gru`` or ``lstm``.
        layer_normalization, forget_bias: of the unit, see :class:`RecurrentUnit`.
        biases, initialization, seed: as everywhere.

    Call arguments and results: as of :class:`Decoder`; with a fixed context, annotations [B, J, n].
    """

    def __init__(
        self, hidden_size, attention="content", alignment_size=None, unit="gru", layer_normalization=False, forget_bias=0.0,
        biases="groundhog", initialization="paper", seed=0, **keywords,
    ):
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.attention_kind = attention
        self.alignment_size = alignment_size
        self.unit_kind = unit
        self.layer_normalization = layer_normalization
        self.forget_bias = forget_bias
        self.biases = biases
        self.initialization = initialization
        self.seed = seed
        seeds, common = Seeds(seed), dict(biases=biases, initialization=initialization, dtype=self.dtype_policy)
        self.unit = RecurrentUnit(
            hidden_size, unit, layer_normalization, forget_bias=forget_bias, seed=seeds.next(), name="unit", **common
        )
        self.attention = (
            ATTENTIONS[attention](alignment_size, seed=seeds.next(), name="attention", **common)
            if attention
            else FixedContext(dtype=self.dtype_policy, name="attention")
        )

    def build(self, embeddings_shape, annotations_shape):
        embedding_size, annotation_size = embeddings_shape[-1], annotations_shape[-1]
        n = self.output_size = self.hidden_size
        shown = annotation_size // 2 if self.attention_kind else annotation_size  # ←h_1, or →h_{T_x}
        role = initializer(self.initialization, "other", Seeds(self.seed + 1).next())
        self.W_s = self.matrix("W_s", (shown, n), role)
        self.b_s = self.vector("b_s", n) if self.biases != "none" else None
        self.unit.build(embedding_size, annotation_size)
        self.attention.build((None, None, n), annotations_shape)
        self.built = True

    def first(self, annotations, memory):
        """The state before the first word: s_0 = tanh(W_s ←h_1), of RNNencdec tanh(W_s →h_{T_x}).

        Args:
            annotations: float [B, J, 2n], of RNNencdec [B, J, n].
            memory: from ``attention.memory``.

        Returns:
            Dictionary of float [B, ...]: ``state`` (s_0), and what unit and attention remember besides.
        """
        shown = annotations[:, 0, annotations.shape[-1] // 2 :] if self.attention_kind else annotations[:, -1]
        s_0 = tf.tanh(product(shown, tensor(self.W_s), self.product_dtype, bias=tensor(self.b_s)))
        return self.unit.first(s_0) | self.attention.first(memory)

    def inputs(self, embeddings):
        """What the word brings to the unit: E y [..., m] → [..., 3n or 4n]."""
        return self.unit.inputs(embeddings)

    def summands(self, annotations):
        """What attention sums up for the unit: C h_j of every annotation h_j, as in ``decoder.py``; so too of a c_i.

        Layer normalization of C c_i is not a sum over j: under it attention sums up the h_j themselves.
        """
        return annotations if self.layer_normalization else self.unit.context_term(annotations)

    def look(self, state, memory):
        """(Σ_j α_ij · annotation j of the memory [B, K, …], alignment [B, K, J], state) for the state of K hypotheses a sentence."""
        own, remembered = self._split(state)
        context, alignment, remembered = self.attention.look(state["state"], memory, **remembered)
        return context, alignment, own | remembered

    def update(self, state, inputs, summed):
        """The state after a word: of :meth:`look`'s state, inputs [B, K, 3n or 4n] and what was summed up of :meth:`summands`."""
        own, remembered = self._split(state)
        inputs += self.unit.context_term(summed) if self.layer_normalization else summed
        return self.unit.advance(inputs, own) | remembered

    def call(self, embeddings, annotations, annotations_mask=None):
        memory = self.attention.memory(annotations, real_positions(annotations, annotations_mask))
        return self.all_steps(self.inputs(embeddings), self.first(annotations, memory), memory)

    def all_steps(self, inputs, state, memory):
        """All steps with given words, from a state and a memory of their own dropout.

        Args:
            inputs: float [B, I, 3n or 4n], from :meth:`inputs`.
            state: from :meth:`first`.
            memory: from ``attention.memory``.

        Returns:
            (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): s_i, c_i and α_i.
        """
        if self.attention_kind is None:  # one context for all positions: nothing to look at in between
            inputs += self.unit.context_term(memory.annotations)[:, tf.newaxis]
            states = over_positions(self.unit, inputs, state)["state"]
            return states, *self.attention.look(states, memory)[:2]
        summed_up = memory._replace(annotations=self.summands(memory.annotations))

        def step(inputs, carried):
            state, inputs = tf.nest.map_structure(lambda x: x[:, tf.newaxis], (carried[0], inputs))  # K = 1
            summed, alignment, state = self.look(state, summed_up)
            state = self.update(state, inputs, summed)
            return tf.nest.map_structure(lambda x: x[:, 0], (state, alignment))

        states, alignments = scan(step, inputs, (state, tf.zeros_like(memory.mask, inputs.dtype)))
        return states["state"], batched_product(alignments, memory.annotations, self.product_dtype), alignments

    def _split(self, state):
        """A state's parts: the unit's own, and what attention remembers."""
        own = {name: value for name, value in state.items() if name in ("state", "cell")}
        return own, {name: value for name, value in state.items() if name not in own}

    def paper_weights(self):
        """This layer's weights by the paper's letters."""
        start = {"W_s": self.W_s, "b_s": self.b_s}
        start = {key: keras.ops.convert_to_numpy(value) for key, value in start.items() if value is not None}
        return self.unit.paper_weights() | start | self.attention.paper_weights()

    def get_config(self):
        own = ("hidden_size", "alignment_size", "layer_normalization", "forget_bias", "biases", "initialization", "seed")
        named = {"attention": self.attention_kind, "unit": self.unit_kind}
        return super().get_config() | {name: getattr(self, name) for name in own} | named
