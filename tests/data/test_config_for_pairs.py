"""The configuration for pairs held in Python is the one that `rnnsearch init` writes for files."""

import dataclasses
import gzip
import unicodedata

import numpy as np
import pytest

import rnnsearch_tf as rt
from shared_data import SHARED

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError, UserError

CAPTIONS = SHARED / "data" / "multi30k" / "train.de.gz"


@pytest.fixture(scope="module")
def sentences():
    return phrasebook(300, "train")


def test_it_is_that_of_init(sentences, tmp_path):
    files = [tmp_path / "text.en", tmp_path / "text.fr"]
    for path, lines in zip(files, sentences):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["--source", str(files[0]), "--target", str(files[1]), "--minutes", "7"]
    assert run(["init", str(tmp_path / "mine"), *words]) == 0
    expected = rt.load_config(tmp_path / "mine" / "config.yaml")
    found = rt.config_for_pairs(list(zip(*sentences)), "en", "fr", minutes=7)
    assert expected.data.train_source == str(files[0]) and found.data.train_source is None
    without = dataclasses.replace(expected.data, train_source=None, train_target=None)
    assert found == dataclasses.replace(expected, data=without)


def test_options_may_be_changed(sentences):
    pairs = list(zip(*sentences))
    found = rt.config_for_pairs(pairs, "en", "fr", overrides=["model.hidden_size=7"])
    model = rt.config_for_pairs(pairs, "en", "fr").model
    assert found.model == dataclasses.replace(model, hidden_size=7)


def test_words_are_characters_where_there_are_no_spaces():
    pairs = [("日" * 60, "word " * 60)] * 100
    assert rt.config_for_pairs(pairs, "ja", "en").data.maximum_length == 180
    only = [("日" * 60, "a word")] * 100
    assert rt.config_for_pairs(only, "ja", "en").data.maximum_length == 180
    assert rt.config_for_pairs(only, "en", "en").data.maximum_length == 50


def test_characters_are_counted_in_the_form_that_training_reads():
    """599 syllables of Korean and the space need a subword each; in decomposed form there are some
    60 letters.
    """
    syllables = [chr(0xAC00 + 17 * k) for k in range(599)]
    lines = [" ".join(syllables[k : k + 4]) for k in range(0, 600, 4)]
    decomposed = [unicodedata.normalize("NFD", line) for line in lines]
    for some in (lines, decomposed):
        config = rt.config_for_pairs([(line, "a b c") for line in some], "ko", "en")
        assert config.source.vocabulary_size == 700 and config.target.vocabulary_size == 500
        rt.build_text(config.source, some)  # SentencePiece refuses fewer than 603


@pytest.mark.skipif(not CAPTIONS.exists(), reason="needs the captions of Multi30k")
def test_the_length_limits_keep_the_long_sentences():
    """Subwords of little text are short: German captions have 2.3 in a word."""
    captions = gzip.decompress(CAPTIONS.read_bytes()).decode("utf-8").splitlines()
    lines = [" ".join(captions[k : k + 3]) for k in range(0, 900, 3)]
    config = rt.config_for_pairs([(line, line) for line in lines], "de", "de")
    rows = rt.build_text(config.source, lines).tokenize(lines).row_lengths().numpy()
    assert 0.95 < np.mean(rows <= config.data.maximum_length)


def test_too_few_pairs_and_codes_that_are_none_are_refused(sentences):
    with pytest.raises(UserError):
        rt.config_for_pairs([("a", "b")] * 99, "en", "fr")
    with pytest.raises(UsageError):
        rt.config_for_pairs(sentences, "en", "not a code!")
