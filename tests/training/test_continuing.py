"""A training that starts from a RUN: what its configuration must keep, and which text is new."""

import pytest

from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.training.warm_start import check_continues, new_pairs


@pytest.fixture
def run(tmp_path):
    """A RUN folder as far as configurations go."""
    for name in ("old", "new"):
        for side in ("en", "fr"):
            lines = (f"{name} {number} {side}\n" for number in range(20))
            (tmp_path / f"{name}.{side}").write_text("".join(lines))
    folder = tmp_path / "run"
    folder.mkdir()
    data = dict(folder=str(tmp_path), train_source="old.en", train_target="old.fr", held_out=5)
    values = {"data": data, "model": {"hidden_size": 5}}
    save_config(load_config(values=values), folder / "config.yaml")
    return folder


def configuration(run, text):
    path = run.parent / "mine.yaml"
    path.write_text(f"base: run/config.yaml\n{text}\n")
    return load_config(path)


def test_a_base_has_the_settings_of_the_run(run):
    before = load_config(run / "config.yaml")
    check_continues(configuration(run, "model: {hidden_dropout: 0.5}"), before, run)
    for change, name in (
        ("model: {hidden_size: 6}", "model.hidden_size"),
        ("source: {tokenization: space}", "source.tokenization"),
    ):
        with pytest.raises(UsageError, match=f"{name}: expected .* as in"):
            check_continues(configuration(run, change), before, run)


def test_new_words_come_from_new_text(run):
    before = load_config(run / "config.yaml")
    names = "train_source: [new.en, old.en], train_target: [new.fr, old.fr]"
    pairs = open_corpus(configuration(run, f"data: {{{names}, train_weights: [1, 0.5]}}"))
    new = new_pairs(pairs, before)
    assert new.name.endswith("new.fr") and 10 < len([*new]) < 20  # without those held out
    old = open_corpus(before)
    assert new_pairs(old, before) is old
