"""A RUN folder with random weights, made once: what comes out is nonsense, but always the same."""

import pytest

from rnnsearch_tf.cli.main import run

SETTINGS = [
    "model.embedding_size=8", "model.hidden_size=8", "model.alignment_size=8", "model.maxout_size=8",
    "model.output_rank=null", "search.beam_size=3", "search.batch_size=4", "search.maximum_length_ratio=1.5",
    "data.corpus=phrasebook", "data.phrasebook_size=200", "data.maximum_source_length=5",
]  # fmt: skip


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """str: path of the RUN folder."""
    import numpy as np

    from rnnsearch_tf.config import UNKNOWN_ID, load_config, save_config
    from rnnsearch_tf.data.phrasebook import phrasebook
    from rnnsearch_tf.models import build_model
    from rnnsearch_tf.models.build import BEST_WEIGHTS
    from rnnsearch_tf.text.pipeline import build_text

    folder = tmp_path_factory.mktemp("model") / "run"
    (folder / "best").mkdir(parents=True)
    config = load_config(overrides=SETTINGS)
    save_config(config, folder / "config.yaml")
    sizes = []
    for side, lines in zip(("source", "target"), phrasebook(200, 1, "train")):
        text = build_text(getattr(config, side), lines)
        text.save(folder, side)
        sizes.append(text.vocabulary.size)
    model = build_model(config, *sizes)
    generator = np.random.default_rng(5)
    for variable in model.trainable_variables:
        variable.assign(generator.normal(scale=0.7, size=variable.shape))
    output = model.output_layer
    output.W_o.assign(0.3 * output.W_o)
    # Some translations have unknown words.
    output.b_softmax.assign([3.5 * (word == UNKNOWN_ID) for word in range(sizes[1])])
    model.save_weights(folder / BEST_WEIGHTS)
    return str(folder)


@pytest.fixture(scope="session")
def translator(run_folder):
    """The Translator of that RUN."""
    from rnnsearch_tf.translation import Translator

    return _loaded(Translator.load, run_folder)


_TRANSLATORS = {}


def _loaded(load, run):
    if run not in _TRANSLATORS:
        _TRANSLATORS[run] = load(run)
    return _TRANSLATORS[run]


@pytest.fixture
def rnnsearch(capsys, monkeypatch):
    """Run a command in this process: rnnsearch(words…) → (lines of standard output, standard error).

    A model is loaded once for all commands; test_processes.py loads it as users do.
    """
    from rnnsearch_tf.translation import Translator

    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda run: _loaded(load, run))

    def command(*words, code=0):
        assert run([str(word) for word in words]) == code
        captured = capsys.readouterr()
        return captured.out.splitlines(), captured.err

    return command
