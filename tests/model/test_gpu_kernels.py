"""A GPU, as far as it can be shown without one: every operation of an update and of a search has a
kernel for it, and none in a loop is the host's.

Whether a GPU computes the same numbers, and how fast, only a GPU can show.
"""

import dataclasses

import pytest
import tensorflow as tf
from gpu_kernels import without_kernel
from tiny_systems import ONE_OF_EACH, READ_THE_SOURCE, fresh_system

from rnnsearch_tf.config import Config, SearchConfig
from rnnsearch_tf.search.graphs import sample_graph, score_targets_graph, search_graph
from rnnsearch_tf.training.optimizers import compile_model

pytestmark = pytest.mark.skipif(
    not tf.test.is_built_with_cuda(), reason="this TensorFlow is built without kernels for GPUs"
)

IDS = tf.TensorSpec([None, None], tf.int32)
PRECISIONS = ["float32", "mixed_bfloat16", "float64"]
QUICK = [("rnnsearch", "mixed_bfloat16")]
SLOW = [
    pytest.param(name, dtype, marks=pytest.mark.slow)
    for name in ONE_OF_EACH
    for dtype in PRECISIONS
    if (name, dtype) not in QUICK
]

SEARCHES = {
    "fixed beam": dict(beam_size=3),
    "shrinking beam": dict(beam_size=3, shrinking_beam=True),
    "penalties": dict(
        beam_size=3,
        length_penalty=0.5,
        minimum_length_ratio=0.5,
        allow_unknown=False,
    ),
}


def update(name, dtype, **training):
    """The graph of an update, traced for batches of any shape."""
    settings = dataclasses.replace(Config().training, precision=dtype, **training)
    model = fresh_system(name, dtype, embedding_dropout=0.1, hidden_dropout=0.1)
    compile_model(model, dataclasses.replace(Config(), training=settings))
    return tf.function(model.train_step, autograph=False).get_concrete_function(
        {"source_ids": IDS, "target_ids": IDS}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name, dtype", [*QUICK, *SLOW])
def test_an_update(name, dtype):
    assert without_kernel(update(name, dtype)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adadelta", "adam", "sgd"])
@pytest.mark.parametrize("policy", ["error", "decay_weights"])
def test_every_optimizer(optimizer, policy):
    traced = update(
        "rnnencdec",
        "float32",
        optimizer=optimizer,
        non_finite_gradient=policy,
        label_smoothing=0.1,
    )
    assert without_kernel(traced) == set()


@pytest.mark.parametrize(
    "name, dtype", [*QUICK, *(row for row in SLOW if row.values[0] in READ_THE_SOURCE)]
)
@pytest.mark.parametrize(
    "search",
    [
        name if name == "fixed beam" else pytest.param(name, marks=pytest.mark.slow)
        for name in SEARCHES
    ],
)
def test_a_search(name, dtype, search):
    graph = search_graph(fresh_system(name, dtype), SearchConfig(**SEARCHES[search]))
    assert without_kernel(graph.get_concrete_function()) == set()


@pytest.mark.slow
@pytest.mark.parametrize("build", [sample_graph, score_targets_graph])
@pytest.mark.parametrize("name", [name for name in ONE_OF_EACH if name in READ_THE_SOURCE])
def test_sampling_and_scoring(name, build):
    assert (
        without_kernel(
            build(fresh_system(name, "float32"), SearchConfig(beam_size=3)).get_concrete_function()
        )
        == set()
    )


def test_what_the_host_alone_can_do_is_found():
    """Python and text, in a loop and outside one; text that an operation hands on counts too."""

    @tf.function(autograph=False)
    def host(x):
        def body(i, x):
            return i + 1, tf.reshape(tf.py_function(lambda v: v, [x], tf.float32), []) + tf.cast(
                tf.strings.length(tf.strings.as_string(x)), tf.float32
            )

        return tf.while_loop(lambda i, x: i < 3, body, [tf.constant(0), x])[1], tf.strings.upper(
            "a"
        )

    missing = without_kernel(host.get_concrete_function(tf.TensorSpec([], tf.float32)))
    assert {
        ("EagerPyFunc", True),
        ("AsString", True),
        ("StringLength", True),
        ("StringUpper", False),
    } <= {(op, loop) for op, _, loop in missing}
    assert not {"While", "StatelessWhile", "AddV2", "Cast"} & {op for op, *_ in missing}
