"""Which models' operations get one core each, and that answers are the same then."""

import json
import os
import subprocess
import sys

import pytest


FREE = {name: value for name, value in os.environ.items() if not name.startswith("TF_NUM_")}

PROGRAM = """
import json
from rnnsearch_tf.runtime import cores
from rnnsearch_tf.config import ModelConfig
small, large = ModelConfig(hidden_size=256), ModelConfig(hidden_size=257)
answers = {"before": cores.shard_count()}
answers["large"] = cores.use_one_thread_per_op([small, large], 80, cores=2)
answers["few sentences"] = cores.use_one_thread_per_op([small], 31, cores=2)
answers["one core"] = cores.use_one_thread_per_op([small], 80, cores=1)
answers["small"] = cores.use_one_thread_per_op([small, small], 32, cores=2)
import tensorflow as tf
answers["sum"] = int(tf.constant(1) + 1)
answers["told"] = cores.use_one_thread_per_op([small], 80, cores=2)
answers["settings"] = [tf.config.threading.get_intra_op_parallelism_threads(), \
tf.config.threading.get_inter_op_parallelism_threads()]
answers["after"] = [cores.shard_count(), cores.training_shards(80), \
cores.training_shards(31), cores.training_shards(1)]
print(json.dumps(answers))
"""


def answers_of(program, *words, **environment):
    """What a fresh process prints last, as JSON."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(
        command, env=FREE | environment, capture_output=True, text=True, timeout=200, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_small_models_only_and_whoever_set_threads_keeps_them():
    assert answers_of(PROGRAM) == {
        "before": 1,
        "large": False,
        "few sentences": False,
        "one core": False,
        "small": True,
        "sum": 2,
        "told": False,
        "settings": [1, 2],
        "after": [2, 2, 1, 1],
    }


ARRANGED = """
import json, sys
import tensorflow as tf
from rnnsearch_tf.runtime import cores
from rnnsearch_tf.config import ModelConfig
if sys.argv[1:] == ["late"]:
    tf.constant(1)
print(json.dumps([cores.use_one_thread_per_op([ModelConfig(hidden_size=8)], 80, cores=2), \
cores.shard_count()]))
"""


@pytest.mark.parametrize(
    "environment, shards",
    [
        (dict(TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="3"), 3),
        pytest.param(dict(TF_NUM_INTRAOP_THREADS="2"), 1, marks=pytest.mark.slow),
    ],
)
def test_the_environment_is_heeded(environment, shards):
    assert answers_of(ARRANGED, **environment) == [False, shards]


@pytest.mark.slow
def test_too_late_is_no_error():
    assert answers_of(ARRANGED, "late") == [False, 1]
