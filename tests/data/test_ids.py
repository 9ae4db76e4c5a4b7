"""The store of ids: what it holds, when it is the right one, and what is read to fill it."""

import collections
import re

import numpy as np
import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.ids import encode, open_ids
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.variants import variant, variants_of
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import reading
from rnnsearch_tf.text.pipeline import build_texts


def config_of(write, **data):
    lines = [f"the {number % 7} house {number} is red" for number in range(60)]
    paths = dict(train_source=write("s.gz", lines), train_target=write("t", lines))
    return load_config(values={"data": {**paths, "variants": 0, **data}})


@pytest.fixture(scope="module")
def texts():
    pairs = [(f"the {number % 7} house {number} is red",) * 2 for number in range(60)]
    return tuple(build_texts(load_config(), pairs))


def test_a_store_gives_the_ids_of_the_text(write, texts, tmp_path):
    config = config_of(write)
    pairs = open_corpus(config)
    for folder in (None, tmp_path / "ids"):
        ids = encode(pairs, texts, 50, folder=folder)
        assert ids.flat[0].dtype == np.uint16 and len(ids) == 60
        for side in (0, 1):
            rows = texts[side].encode([pair[side] for pair in pairs]).to_tensor().numpy()
            np.testing.assert_array_equal(ids.batch(np.arange(60))[side], rows)
    assert open_ids(tmp_path / "ids").part_sizes == [60]


@pytest.mark.parametrize("name", ["ids.json", "source.ids", "target.offsets"])
def test_a_damaged_store_is_named(write, texts, tmp_path, name):
    encode(open_corpus(config_of(write)), texts, 50, folder=tmp_path / "ids")
    path = tmp_path / "ids" / name
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UserError, match=f"{tmp_path}/ids: expected the ids"):
        open_ids(tmp_path / "ids")


@pytest.mark.parametrize("held_out", [0, 10])
def test_a_file_is_read_for_the_vocabularies_and_for_the_ids(write, monkeypatch, held_out):
    """And once more to hold development text out."""
    opened = collections.Counter()

    def counted(name, real=reading._opened):
        opened[str(name).rpartition("/")[2]] += 1
        return real(name)

    monkeypatch.setattr(reading, "_opened", counted)
    config = config_of(write, held_out=held_out)
    pairs = open_corpus(config)
    encode(pairs, tuple(build_texts(config, pairs)), 50)
    passes = 3 if held_out else 2
    assert opened == {"s.gz": passes, "t": passes}


def test_a_share_of_the_pairs_comes_again_in_a_changed_form():
    pairs = [(f"She has {k} Cats.", f"Elle a {k} chats.") for k in range(10, 1010)]

    def found(share, seed=1):
        return variants_of(pairs, share, np.random.default_rng(seed))

    changed = found(0.2)
    assert changed == found(0.2) != found(0.2, seed=2)
    assert 150 < len(changed) < 250 and not found(0.0)
    for source, target in changed:
        assert source.endswith(".") == target.endswith(".")
        assert source.split()[2].rstrip(".") == target.split()[2].rstrip(".")  # the number
        assert target.startswith("Elle a ")
    sources = {source.split()[0] for source, _ in changed}
    assert sources == {"She", "she"}


def test_rare_numbers_get_more_variants_than_other_pairs():
    pairs = [("A cat.", "Un chat."), *[("No.", "Non.")] * 998, ("Room 12.", "Chambre 12.")]
    changed = variants_of(pairs, 0.2, np.random.default_rng(1))
    numbers = [source.split()[1].rstrip(".") for source, _ in changed if "oom" in source.lower()]
    assert 8 <= len(numbers) <= 11 and len(set(numbers)) >= 7  # ten, and itself by chance


def test_variants_are_in_the_store_and_not_in_the_report(texts):
    pairs = Pairs([(f"The house {k} is red.", f"the house {k}") for k in range(10, 110)])
    ids = encode(pairs, texts, 50, variants=0.3)
    assert 110 < len(ids) < 150 and f"{pairs.report}" == "100 pairs"
    encode(Pairs([*pairs, ("red " * 60, "x")]), texts, 50, variants=1.0)


def test_numbers_change_on_both_sides_or_not_at_all():
    random = np.random.default_rng(3)
    found = set()
    for _ in range(50):
        pair = variant(("In 1999, 3.5 of 12", "12 de 3,5 en 1999"), random)
        source, target = (re.findall(r"[\d.,]*\d", side) for side in pair)
        assert source[1] == "3.5" and target == [source[2], "3,5", source[0]]
        assert [len(number) for number in source] == [4, 3, 2]
        found.add(source[0])
    assert len(found) > 20
    pair = variant(("20 euros; the car 20,000", "20 euros ; la voiture 20 000"), random)
    assert pair[0].startswith("20 ") and pair[1].startswith("20 ")  # 20 is two numbers there
    names = "MP3 on the 1st", "MP3 le 1er"
    assert all(variant(names, random)[1] == names[1] for _ in range(9))


def test_the_final_punctuation_of_other_scripts_may_go():
    pair = "I have a dog.", "मेरे पास एक कुत्ता है।"
    targets = {variant(pair, np.random.default_rng(seed))[1] for seed in range(9)}
    assert targets == {pair[1], pair[1][:-1]}


def test_a_store_of_many_lines(texts):
    """More than are encoded at once."""
    pairs = [(f"house {k % 7}", "red " * (k % 5 + 1)) for k in range(5000)]
    ids = encode(Pairs(pairs), texts, 50)
    rows = texts[1].encode([target for _, target in pairs]).to_tensor().numpy()
    np.testing.assert_array_equal(ids.batch(np.arange(5000))[1], rows)
