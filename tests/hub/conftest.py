"""A RUN, its preset and the model of that, made once for all files here."""

import pytest
from tiny_run import write_run

keras_nlp = pytest.importorskip("keras_nlp")

SETTINGS = [
    "source.tokenization=sentencepiece",
    "source.vocabulary_size=60",
    "data.maximum_length=40",
]


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("hub") / "run", SETTINGS)


@pytest.fixture(scope="session")
def preset(run):
    from rnnsearch_tf.extras.hub import run_to_preset

    folder = run.parent / "preset"
    run_to_preset(run, folder)
    return folder


@pytest.fixture(scope="session")
def model(preset):
    """From keras-hub's own loader. A test that changes it puts it back."""
    return keras_nlp.models.Seq2SeqLM.from_preset(str(preset))
