"""SentencePiece subwords, compared with the sentencepiece package itself."""

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text.pipeline import Text, build_text, extend_texts, load_text
from rnnsearch_tf.text.subwords import Subwords

SUBJECTS = (
    "le chat",
    "la chatte",
    "le petit chien",
    "l'homme",
    "une très vieille femme",
    "mon frère",
)
VERBS = ("dort", "dormait", "chante", "chantait", "marchera", "parlerait", "mange")
PLACES = (
    "dans la rue",
    "à l'école",
    "sous la table",
    "chez son ami",
    "près de l'église",
    "au marché",
)
LINES = [f"{s.capitalize()} {v} {p}." for s in SUBJECTS for v in VERBS for p in PLACES]
NEW = [
    "Le chien chantait sous l'école.",
    "La femme ☃ 日本 mange.",
    "",
    "deux  espaces\u00a0ici",
    "</s> <pad> a▁b",
]


def config(**options):
    return TextConfig(
        **{"language": "fr", "tokenization": "sentencepiece", "vocabulary_size": 45, **options}
    )


@pytest.fixture(scope="module")
def text():
    return build_text(config(), LINES)


@pytest.fixture(scope="module")
def package(text):
    return sentencepiece.SentencePieceProcessor(model_proto=text.subword_model)


def test_vocabulary_lines_are_piece_ids(text, package):
    assert text.vocabulary.size == package.vocab_size() == 45
    assert text.vocabulary.tokens == [package.id_to_piece(k) for k in range(package.vocab_size())]
    assert text.vocabulary.tokens[:3] == ["<pad>", "</s>", "<unk>"]


def test_ids_are_those_of_the_package_and_the_end_symbol(text, package):
    # white space is cleaned before the op sees it, so the package gets it cleaned too
    expected = [
        package.encode(" ".join(line.split()), out_type=int) + [1] for line in LINES[::9] + NEW
    ]
    assert text.encode(tf.constant(LINES[::9] + NEW)).to_list() == expected


def test_decoding_gives_the_text_back(text, package):
    lines = LINES[::9]
    ids = text.encode(tf.constant(lines))
    assert [line.decode() for line in text.decode(ids).numpy()] == lines
    assert [package.decode(row) for row in ids.to_list()] == lines


def test_a_low_block_in_the_text_is_not_taken_for_a_space(text):
    tokens = text.tokenize(tf.constant(["a▁l"]))
    assert text.detokenize(tokens).numpy()[0].decode() == "a_l"


def test_training_again_gives_the_same_model(text):
    assert build_text(config(), iter(LINES)).subword_model == text.subword_model


def test_text_that_cannot_support_the_size_gives_a_smaller_vocabulary():
    assert 45 < build_text(config(vocabulary_size=30_001), LINES).vocabulary.size < 200


def test_lower_case_is_taken_before_the_pieces():
    text = build_text(config(lowercase=True), LINES)
    assert not any(character.isupper() for piece in text.vocabulary.tokens for character in piece)
    upper, lower = text.encode(tf.constant(["LE CHAT À L'ÉCOLE", "le chat à l'école"])).to_list()
    assert upper == lower and 2 not in lower


def test_files_come_back(text, tmp_path):
    text.save(tmp_path, "target")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "target.spm.model",
        "vocabulary.target.txt",
    ]
    ready = build_text(config(vocabulary=str(tmp_path / "target.spm.model")), [])
    assert ready.vocabulary.tokens == text.vocabulary.tokens
    assert load_text(tmp_path, "target", config()).same_as(text)


def other_model(folder, **options):
    """Path of a model with the special tokens first that another program trained."""
    folder.mkdir(exist_ok=True)
    prefix = str(folder / "other")
    special = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=prefix, minloglevel=2, **special | options
    )
    return prefix + ".model"


def test_models_that_cannot_be_used(tmp_path):
    """No model; other special tokens first; pieces of bytes, which would be written as <0xE2>."""
    path = tmp_path / "source.spm.model"
    path.write_bytes(b"no model")
    others = other_model(tmp_path / "a", vocab_size=50, pad_id=2, unk_id=0)
    of_bytes = other_model(tmp_path / "b", vocab_size=305, byte_fallback=True)
    for bad, message in (
        (path, "source.spm.model: expected a SentencePiece model, got 8 bytes"),
        (others, "expected the pieces <pad>, </s>, <unk> first, got <unk>"),
        (of_bytes, "other.model: expected pieces of text, got those of bytes"),
    ):
        with pytest.raises(UserError, match=message):
            build_text(config(vocabulary=str(bad)), [])
    with pytest.raises(UserError, match="source.spm.model: expected a SentencePiece model, got 8"):
        load_text(tmp_path, "source", config())


def test_what_only_a_unigram_model_can_do(tmp_path):
    path = other_model(tmp_path, vocab_size=60, model_type="bpe")
    text = build_text(config(vocabulary=path), [])
    assert text.decode(text.encode(LINES[:3])).numpy().tolist() == [s.encode() for s in LINES[:3]]
    with pytest.raises(UsageError, match="new words: expected a unigram .* model, got bpe"):
        extend_texts((text, text), [("Ωλδ", "Ωλδ")], 100)


def test_a_size_below_the_alphabet_is_refused():
    with pytest.raises(
        UserError, match="training text: expected a vocabulary_size that fits .* got 10"
    ):
        build_text(config(vocabulary_size=10), LINES)


def test_using_a_model_needs_no_package(text, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    again = Text(config(), Subwords(text.subword_model))
    assert again.encode(tf.constant(NEW)).to_list() == text.encode(tf.constant(NEW)).to_list()


def test_it_outlives_a_new_random_seed(text):
    """Which empties TensorFlow's cache of kernels, and with it whatever belongs to one."""
    read = tf.function(lambda lines: text.encode(lines).to_tensor(), autograph=False)
    before = read(tf.constant(["the cat sleeps"]))
    tf.random.set_seed(1)
    np.testing.assert_array_equal(read(tf.constant(["the cat sleeps"])), before)
    assert text.same_as(text) and text.decode(before).numpy() == [b"the cat sleeps"]
