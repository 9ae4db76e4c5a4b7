"""What training.average averages."""

import types

import numpy as np
from test_nothing_lost import arrays

from rnnsearch_tf.models import build_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_texts
from rnnsearch_tf.training.averaging import assign_mean
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.fit import train
from test_driver import language_model


def test_the_mean_of_every_weight_of_the_last_evaluations(tmp_path):
    settings = language_model(
        "training.evaluate_every=2", "training.maximum_updates=7", "training.average=3"
    )
    train(settings, tmp_path)
    run = Run(tmp_path)
    kept = run.evaluated_weights()
    assert [path.name for path in kept] == [f"batch-{number:08}.weights.h5" for number in (4, 6, 7)]
    sizes = [text.vocabulary.size for text in load_texts(run, settings)]
    model = build_model(settings, *sizes)
    each = []
    for path in kept:
        run.read_weights(model, path)
        each.append([weight.numpy() for weight in model.trainable_variables])
    assert not np.array_equal(each[0][0], each[1][0])
    assign_mean(model, run, kept)
    for weight, *values in zip(model.trainable_variables, *each, strict=True):
        np.testing.assert_allclose(weight, np.mean(values, axis=0), rtol=1e-6, atol=1e-9)
    assert arrays(kept[0]).keys() == arrays(run.best_weights).keys()


def test_one_evaluation_gives_no_average(capsys):
    """It is said, rather than passed over."""
    run = types.SimpleNamespace(evaluated_weights=lambda: ["evaluated/batch-9.weights.h5"])
    Development._average(types.SimpleNamespace(run=run), 4)
    assert "training.average=4: expected the weights of two evaluations or more, got 1" in (
        capsys.readouterr().err
    )
