"""Which models' operations get one core each, and that answers are the same then."""

import json
import os
import subprocess
import sys

import pytest

from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.translator import in_shards
from tiny_run import write_run

FREE = {name: value for name, value in os.environ.items() if not name.startswith("TF_NUM_")}

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

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


TEXTS = [
    "The door is white.",
    "",
    "Where is the white cat?",
    "zebra xylophone",
    "She goes to the hotel.",
    "The cat.",
    "A red car is here.",
]


@pytest.mark.slow
def test_translations_scores_and_samples_are_the_same_in_shards(translator, monkeypatch):
    def answers(shards):
        monkeypatch.setattr(
            "rnnsearch_tf.translation.translator.in_shards",
            lambda _, *arguments: in_shards(shards, *arguments),
        )
        translations = translator.translate(TEXTS, nbest=2, shrinking_beam=True, search_again=True)
        forced = translator.score_targets([text or "a" for text in TEXTS], TEXTS[::-1])
        return translations, forced, translator.sample(TEXTS[:1], 5)

    whole = answers(1)
    parted = answers(3)
    for expected, found in zip(whole[0], parted[0], strict=True):
        assert found.text == expected.text and found.source_tokens == expected.source_tokens
        assert [h.text for h in found.nbest] == [h.text for h in expected.nbest]
        assert found.score == pytest.approx(expected.score, abs=1e-5)
        assert found.alignment == pytest.approx(expected.alignment, abs=1e-5)
    for expected, found in zip(whole[1], parted[1], strict=True):
        assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
        assert found.alignment == pytest.approx(expected.alignment, abs=1e-5)
    assert [[s.text for s in samples] for samples in whole[2]] == [
        [s.text for s in samples] for samples in parted[2]
    ]


COMMAND = """
import json, sys
from rnnsearch_tf.cli.main import run
assert run(sys.argv[1:]) == 0
from rnnsearch_tf.runtime import cores
print(json.dumps(cores.shard_count()))
"""


@pytest.mark.slow
def test_the_command_line_gives_each_operation_one_core(tmp_path):
    """A process as users start it, nothing said of threads; on more cores than the batches are for,
    nothing is done.
    """
    run_folder = write_run(tmp_path / "run", ["search.batch_size=64"])
    source = tmp_path / "source"
    output = tmp_path / "output"
    source.write_text("\n".join(TEXTS) + "\n")
    shards = answers_of(
        COMMAND, "translate", "--model", str(run_folder), "--output", str(output), str(source)
    )
    assert output.read_text().splitlines() == [
        found.text for found in Translator.load(run_folder).translate(TEXTS)
    ]
    assert shards == (CORES if CORES <= 4 else 1)
