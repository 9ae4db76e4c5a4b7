"""A RUN folder with random weights, made once: what comes out is nonsense, but always the same."""

import pytest
from tiny_run import write_run

from rnnsearch_tf.cli.main import run


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """str: path of the RUN folder."""
    # with it some translations end, and some words are unknown
    return str(write_run(tmp_path_factory.mktemp("model") / "run", seed=18))


@pytest.fixture(scope="session")
def translator(run_folder):
    """The Translator of that RUN."""
    from rnnsearch_tf.translation import Translator

    return _loaded(Translator.load, run_folder)


_TRANSLATORS = {}


def _loaded(load, runs, overrides=()):
    key = (*map(str, [runs] if isinstance(runs, str) else runs), *overrides)
    if key not in _TRANSLATORS:
        _TRANSLATORS[key] = load(runs, overrides)
    return _TRANSLATORS[key]


@pytest.fixture
def files(tmp_path, request):
    """Paths of two files, with the lines SOURCE and TARGET of the test's module."""
    names = []
    for name, lines in (("source", request.module.SOURCE), ("target", request.module.TARGET)):
        names.append(tmp_path / name)
        names[-1].write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return names


@pytest.fixture
def rnnsearch(capsys, monkeypatch):
    """Run a command in this process: rnnsearch(words…) → (lines of standard output, standard
    error).

    A model is loaded once for all commands; test_processes.py loads it as users do.
    """
    from rnnsearch_tf.translation import Translator

    load = Translator.load
    monkeypatch.setattr(
        Translator, "load", lambda runs, overrides=(): _loaded(load, runs, overrides)
    )

    def command(*words, code=0):
        assert run([str(word) for word in words]) == code
        captured = capsys.readouterr()
        return captured.out.splitlines(), captured.err

    return command
