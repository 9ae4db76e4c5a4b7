"""Ensembles: against the members' training logits combined in NumPy."""

import numpy as np
import pytest
from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.search.graphs import score_graph, search_graph
from tiny_rnnsearch import batch, tiny_model
from tiny_systems import tiny_system


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


@pytest.mark.slow
def test_the_members_probabilities_are_averaged_word_by_word():
    models = members()
    inputs = {key: value.numpy() for key, value in batch().items()}
    forced = score_graph(Ensemble(models))(inputs["source_ids"], inputs["target_ids"])
    expected = combined([training_log_probabilities(model) for model in models])
    np.testing.assert_allclose(
        forced.log_probabilities, chosen(expected, inputs["target_ids"]), atol=1e-5
    )
    each = [
        score_graph(model)(inputs["source_ids"], inputs["target_ids"]).alignments
        for model in models
    ]
    np.testing.assert_allclose(forced.alignments, np.mean(each, axis=0), atol=1e-6)


def test_copies_of_a_model_are_the_model():
    model = tiny_model(dtype="float32", seed=1, scale=1.0)
    inputs = batch().values()
    one, three = (score_graph(each)(*inputs) for each in (model, Ensemble([model] * 3)))
    np.testing.assert_allclose(three.log_probabilities, one.log_probabilities, atol=1e-5)


def test_a_hypothesis_of_the_beam_has_its_forced_score():
    ensemble = Ensemble(members())
    config = SearchConfig(beam_size=4, length_penalty=0.0)
    sources = batch()["source_ids"]
    result = search_graph(ensemble, config, 3)(sources)
    graph = score_graph(ensemble)
    for n in range(3):
        there = result.lengths[:, n].numpy() > 0
        forced = graph(sources, result.ids[:, n]).log_probabilities.numpy().sum(axis=1)
        np.testing.assert_allclose(
            result.log_probabilities[:, n].numpy()[there], forced[there], atol=1e-4
        )
        assert there.all() or n


def test_members_of_different_systems():
    models = [
        tiny_system(name, "float32", seed=4)
        for name in ("deep_lstm", "luong-general", "encoder_decoder", "cslm")
    ]
    inputs = {key: value.numpy() for key, value in batch().items()}
    forced = score_graph(Ensemble(models))(inputs["source_ids"], inputs["target_ids"])
    expected = combined([training_log_probabilities(model) for model in models])
    np.testing.assert_allclose(
        forced.log_probabilities, chosen(expected, inputs["target_ids"]), atol=1e-5
    )
    luong = score_graph(models[1])(inputs["source_ids"], inputs["target_ids"]).alignments
    np.testing.assert_allclose(forced.alignments, luong, atol=1e-6)


def test_members_without_attention_say_nothing_of_the_alignment():
    models = members()
    for model in models[:2]:
        model.has_attention = False
    ensemble = Ensemble(models)
    inputs = batch().values()
    alone = score_graph(models[2])(*inputs).alignments
    np.testing.assert_allclose(score_graph(ensemble)(*inputs).alignments, alone, atol=1e-6)
    assert ensemble.has_attention
    assert not Ensemble(models[:2]).has_attention


def test_an_ensemble_without_models():
    with pytest.raises(UsageError, match="Ensemble: models: expected at least one model, got none"):
        Ensemble([])
