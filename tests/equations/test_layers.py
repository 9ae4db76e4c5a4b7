"""Each layer against the NumPy reference, 1e-10 in float64, on padded batches."""

import numpy as np
import pytest
import tensorflow as tf
from reference import rnnsearch
from rnnsearch_tf.layers import BahdanauAttention, BiGRUEncoder, DeepOutput
from rnnsearch_tf.layers.decoder import Decoder
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.output import maxout
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.models.loss import word_losses
from tiny_rnnsearch import randomize

M = 3
N = 4
ALIGNMENT = 5
L = 3
V = 7
LENGTHS = (4, 1, 3)
BIASES = ("none", "groundhog")
NEAR = dict(rtol=0, atol=1e-10)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def mask_of(lengths):
    return tf.sequence_mask(lengths)


@pytest.mark.parametrize("biases", BIASES)
def test_word_embedding(biases):
    layer = WordEmbedding(V, M, biases=biases, dtype="float64")
    layer.build()
    randomize(layer)
    weights = {"E_source": layer.E.numpy()} | (
        {} if biases == "none" else {"b_E_source": layer.b_E.numpy()}
    )
    ids = [[3, 1, 0], [6, 2, 1]]
    expected = [[rnnsearch.embed(weights, "source", word) for word in row] for row in ids]
    np.testing.assert_allclose(layer(tf.constant(ids)), expected, **NEAR)


def letters(layer):
    return {weight.name: weight.numpy() for weight in layer.weights}


def test_gated_unit_with_context():
    unit = RecurrentUnit(N, dtype="float64")
    unit.build(M, 2 * N)
    randomize(unit)
    word, state, context = normal(1, M), normal(1, N, seed=1), normal(1, 2 * N, seed=2)
    inputs, term = unit.inputs(tf.constant(word)), unit.context_term(tf.constant(context))
    after = unit.advance(inputs, {"state": tf.constant(state)}, term)["state"]
    expected = rnnsearch.gated_unit(word[0], state[0], letters(unit), context=context[0])
    np.testing.assert_allclose(after[0], expected, **NEAR)


@pytest.mark.parametrize("biases", BIASES)
def test_encoder(biases):
    layer = BiGRUEncoder(N, biases=biases, dtype="float64")
    layer.build((None, None, M))
    randomize(layer)
    ids = [[2, 5, 6, 1], [1, 0, 0, 0], [4, 4, 1, 0]]
    table = normal(V, M)
    annotations = layer(tf.constant(table[ids]), mask_of(LENGTHS)).numpy()
    weights = {key: w.numpy() for key, w in layer.letters().items()} | {"E_source": table}
    assert ("encoder.forward.b" in weights) == (biases != "none")
    for row, length in enumerate(LENGTHS):
        expected = rnnsearch.encode(weights, ids[row][:length])
        np.testing.assert_allclose(annotations[row, :length], expected, **NEAR)


def attention_layer():
    layer = BahdanauAttention(ALIGNMENT, dtype="float64")
    layer.build((None, None, N), (None, None, 2 * N))
    return randomize(layer)


def test_attention():
    """K = 2 hypotheses a sentence."""
    layer = attention_layer()
    annotations = normal(3, 4, 2 * N)
    states = normal(3, 2, N, seed=1)
    context, alignment = layer(tf.constant(states), tf.constant(annotations), mask_of(LENGTHS))
    for row, length in enumerate(LENGTHS):
        own = annotations[row, :length]
        for k in range(2):
            expected = rnnsearch.align(letters(layer), states[row, k], own)
            np.testing.assert_allclose(alignment[row, k, :length], expected, **NEAR)
            np.testing.assert_array_equal(alignment[row, k, length:], 0.0)
            np.testing.assert_allclose(context[row, k], rnnsearch.attend(expected, own), **NEAR)


def test_attention_at_large_energies():
    """Energies of a few hundred overflow a softmax that is not shifted by its maximum."""
    layer = attention_layer()
    layer.v_a.assign(1000.0 * np.sign(layer.v_a.numpy()))
    annotations = normal(1, 4, 2 * N)
    states = normal(1, 1, N, seed=1)
    _, alignment = layer(tf.constant(states), tf.constant(annotations))
    expected = rnnsearch.align(letters(layer), states[0, 0], annotations[0])
    np.testing.assert_allclose(alignment[0, 0], expected, **NEAR)


@pytest.mark.parametrize("biases", BIASES)
def test_decoder_recurrence(biases):
    """s_0, then s_i, c_i, alpha_i for given words, all positions at once."""
    layer = Decoder(N, ALIGNMENT, "content", "look_update_generate", biases=biases, dtype="float64")
    layer.build((None, None, M), (None, None, 2 * N))
    randomize(layer)
    weights = letters(layer)
    assert ("b_s" in weights) == (biases != "none")
    annotations = normal(3, 4, 2 * N)
    words = normal(3, 5, M, seed=1)
    memory = layer.alignment_model.memory(tf.constant(annotations), mask_of(LENGTHS))
    start = layer.initial_state(tf.constant(annotations), memory)
    initial = start["state"]
    states, contexts, alignments = layer.all_steps(tf.constant(words), start, memory)
    for row, length in enumerate(LENGTHS):
        own = annotations[row, :length]
        state = rnnsearch.initial_state(weights, own)
        np.testing.assert_allclose(initial[row], state, **NEAR)
        for i in range(5):
            alignment = rnnsearch.align(weights, state, own)
            context = rnnsearch.attend(alignment, own)
            state = rnnsearch.gated_unit(words[row, i], state, weights, context=context)
            np.testing.assert_allclose(alignments[row, i, :length], alignment, **NEAR)
            np.testing.assert_allclose(contexts[row, i], context, **NEAR)
            np.testing.assert_allclose(states[row, i], state, **NEAR)


def test_maxout_takes_adjacent_pairs():
    np.testing.assert_array_equal(
        maxout(tf.constant([[1.0, 5.0, 4.0, 2.0, -3.0, -6.0]])), [[5.0, 4.0, -3.0]]
    )


@pytest.mark.parametrize("biases", BIASES)
@pytest.mark.parametrize("rank", (None, 2))
def test_deep_output(biases, rank):
    layer = DeepOutput(V, L, output_rank=rank, biases=biases, dtype="float64")
    layer.build((None, N), (None, M), (None, 2 * N))
    randomize(layer)
    state = normal(3, 2, N)
    word = normal(3, 2, M, seed=1)
    context = normal(3, 2, 2 * N, seed=2)
    logits = layer(*map(tf.constant, (state, word, context)))
    weights = letters(layer)
    assert ("W_o1" in weights) == (rank is not None)
    assert [key for key in weights if key.startswith("b")] == (
        [] if biases == "none" else ["b_o", "b_softmax"]
    )
    for row in np.ndindex(3, 2):
        np.testing.assert_allclose(
            logits[row], rnnsearch.deep_output(weights, state[row], word[row], context[row]), **NEAR
        )


@pytest.mark.parametrize("smoothing", (0.0, 0.1))
def test_word_losses(smoothing):
    logits = normal(5, V, seed=1)
    ids = [3, 1, 6, 2, 3]
    losses, nll = word_losses(tf.constant(logits), tf.constant(ids), smoothing)
    for row, word in enumerate(ids):
        log_p = rnnsearch.log_softmax(logits[row])
        assert nll[row].numpy() == pytest.approx(-log_p[word], abs=1e-12)
        assert losses[row].numpy() == pytest.approx(
            -(1 - smoothing) * log_p[word] - smoothing * log_p.mean(), abs=1e-12
        )
