"""How often the text is read: once to check it and to count its words, once as ids."""

import collections

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.inspection import fitting
from rnnsearch_tf.files import streams
from rnnsearch_tf.text.pipeline import build_texts


@pytest.fixture
def opened(monkeypatch):
    """Counter of the files that were opened, by name."""
    counts = collections.Counter()

    def counted(name, real=streams._open):
        counts[str(name).rpartition("/")[2]] += 1
        return real(name)

    monkeypatch.setattr(streams, "_open", counted)
    return counts


def config_of(write, **data):
    lines = [f"the {number % 7} house {number} is red" for number in range(60)]
    paths = dict(train_source=write("s.gz", lines), train_target=write("t", lines))
    sides = {
        side: {"tokenization": data.pop("tokenization", "moses"), "vocabulary_size": 60}
        for side in ("source", "target")
    }
    return load_config(values={"data": {**paths, "batch_size": 8, **data}, **sides})


def epochs(config, number):
    """Everything that training does with its text before and in its first epochs; the pairs of each
    epoch.
    """
    pairs = open_corpus(config)
    texts = build_texts(config, pairs.lines())
    dataset = training_dataset(*texts, pairs, config.data, seed=1)
    return [
        sum(len(batch["source_ids"]) for batch in dataset.as_numpy_iterator())
        for _ in range(number)
    ]


@pytest.mark.parametrize("tokenization", ["moses", "sentencepiece"])
def test_a_file_is_opened_twice_before_the_first_epoch_ends(write, opened, tokenization):
    assert epochs(config_of(write, tokenization=tokenization), 1) == [60]
    assert opened == {"s.gz": 2, "t": 2}


def test_what_fits_the_buffer_is_not_read_again(write, opened):
    assert epochs(config_of(write), 3) == [60] * 3
    assert opened == {"s.gz": 2, "t": 2}


def test_what_does_not_fit_is_read_once_an_epoch(write, opened):
    assert epochs(config_of(write, shuffle_buffer=20), 3) == [60] * 3
    assert opened == {"s.gz": 4, "t": 4}


def test_a_held_out_text_costs_one_pass_more(write, opened):
    [kept] = epochs(config_of(write, held_out=10), 1)
    assert 40 < kept < 60 and opened == {"s.gz": 3, "t": 3}


def test_init_reads_its_text_once(opened, write, caplog):
    caplog.set_level("INFO", "rnnsearch_tf.runtime.progress")  # the bar must not ask for a length
    fitting.inspect(write("s.gz", ["a house"] * 100), write("t", ["une maison"] * 100))
    assert opened == {"s.gz": 1, "t": 1}
