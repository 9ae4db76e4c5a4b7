"""Ensembles: against the members' training logits combined in NumPy."""

import numpy as np
from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.search.graphs import search_graph
from tiny_rnnsearch import batch, tiny_model
from tiny_systems import scores_of, tiny_system


def members():
    return [
        tiny_model(dtype="float32", seed=1, scale=1.0),
        tiny_model(dtype="float32", seed=2, scale=1.0, hidden_size=6, decoder_order="paper"),
        tiny_model(dtype="float32", seed=3, scale=1.0, maxout_size=2),
    ]


def combined(log_probabilities):
    """[members, B, I, V] → [B, I, V]."""
    return np.log(np.mean(np.exp(log_probabilities), axis=0))


def training_log_probabilities(model):
    logits = model(batch()).numpy().astype(np.float64)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def chosen(log_probabilities, target_ids):
    return np.take_along_axis(log_probabilities, target_ids[..., None], axis=2)[..., 0] * (
        target_ids != 0
    )


def test_a_hypothesis_of_the_beam_has_its_forced_score():
    ensemble = Ensemble(members())
    config = SearchConfig(beam_size=4, length_penalty=0.0)
    sources = batch()["source_ids"]
    result = search_graph(ensemble, config, 3)(sources)
    graph = scores_of(ensemble)
    for n in range(3):
        there = result.lengths[:, n].numpy() > 0
        forced = graph(sources, result.ids[:, n]).log_probabilities.numpy().sum(axis=1)
        np.testing.assert_allclose(
            result.log_probabilities[:, n].numpy()[there], forced[there], atol=1e-4
        )
        assert there.all() or n


def test_the_members_probabilities_are_averaged_word_by_word():
    """Of different systems and precisions; the alignment is that of those that attend."""
    names = ("deep_lstm", "luong-general", "cslm", "rnnsearch-paper")
    models = [tiny_system(name, "float32", seed=4) for name in names[:3]]
    models.append(tiny_system(names[3], "float64", seed=4))
    inputs = {key: value.numpy() for key, value in batch().items()}
    forced = scores_of(Ensemble(models))(*inputs.values())
    expected = combined([training_log_probabilities(model) for model in models])
    np.testing.assert_allclose(
        forced.log_probabilities, chosen(expected, inputs["target_ids"]), atol=1e-5
    )
    attending = [scores_of(models[k])(*inputs.values()).alignments for k in (1, 3)]
    np.testing.assert_allclose(forced.alignments, np.mean(attending, axis=0), atol=1e-6)
    assert Ensemble(models).has_attention and not Ensemble(models[::2]).has_attention
