"""Text, one side of the model: tokens, ids and back, in every mode."""

import doctest
import importlib
import unicodedata

import pytest
import sacremoses
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tricky_sentences import BY_LANGUAGE

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.pipeline import build_text, load_text

CONFIGS = {
    "moses en": TextConfig(language="en"),
    "moses fr": TextConfig(language="fr"),
    "moses de lower": TextConfig(language="de", lowercase=True),
    "space": TextConfig(tokenization="space"),
    "subwords": TextConfig(tokenization="sentencepiece", vocabulary_size=400),
}


@pytest.fixture(scope="module", params=CONFIGS)
def text(request):
    config = CONFIGS[request.param]
    return build_text(config, BY_LANGUAGE[config.language])


def strings(tensor):
    return [value.decode() for value in tensor.numpy()]


def test_every_row_ends_and_no_text_makes_a_special_token(text):
    rows = text.encode(tf.constant(["</s> <pad> x", "", b"\xff\xc3", "<pad>"])).to_list()
    assert all(row[-1] == 1 and not {0, 1} & set(row[:-1]) for row in rows)
    assert rows[1] == [1]


def test_tokens_of_ids_are_the_tokens_themselves(text):
    tokens = text.tokenize(tf.constant(BY_LANGUAGE[text.config.language]))
    known = tokens.to_list()
    specials = {b"<pad>", b"</s>"}
    known = [[token if token not in specials else b"<unk>" for token in row] for row in known]
    assert text.tokens(text.ids(tokens)).to_list() == known  # every word was in the training text


def test_what_follows_the_end_symbol_and_padding_is_dropped(text):
    word = text.vocabulary.tokens[3].encode()
    dense = tf.constant([[3, 1, 3, 1, 0], [0, 3, 3, 1, 0], [1, 3, 3, 3, 3], [3, 3, 3, 3, 3]])
    expected = [[word], [word] * 2, [], [word] * 5]
    assert text.tokens(dense).to_list() == expected
    ragged = tf.RaggedTensor.from_tensor(dense, lengths=[3, 4, 5, 5])
    assert text.tokens(ragged).to_list() == expected
    assert strings(text.decode(dense)) == strings(text.detokenize(text.tokens(dense)))


def test_no_rows(text):
    assert text.encode(tf.constant([], tf.string)).to_list() == []
    assert strings(text.decode(tf.zeros([0, 5], tf.int32))) == []
    assert strings(text.decode(tf.zeros([2, 0], tf.int32))) == ["", ""]


def test_a_single_string_is_refused(text):
    with pytest.raises(ValueError, match="must have rank 1"):
        text.tokenize(tf.constant("not a batch"))


@settings(max_examples=15, deadline=None)
@given(
    lines=st.lists(
        st.binary(max_size=12)
        | st.text(max_size=12).map(lambda x: x.encode("utf-8", "surrogatepass")),
        min_size=1,
        max_size=5,
    )
)
def test_any_bytes_give_valid_text_alike_alone_and_in_a_batch(text, lines):
    tokens = text.tokenize(tf.constant(lines))
    for token in tokens.flat_values.numpy():
        assert token and len(token.decode("utf-8").split()) == 1
    strings(text.detokenize(tokens))  # decodes, so it is valid UTF-8
    rows = text.encode(tf.constant(lines)).to_list()
    assert [text.encode(tf.constant([line])).to_list()[0] for line in lines] == rows
    assert max(map(max, rows)) < text.vocabulary.size


def test_in_tf_data_and_graph_the_ids_are_the_same(text):
    lines = BY_LANGUAGE[text.config.language]
    eager = text.encode(tf.constant(lines)).to_list()
    graph = tf.function(
        text.encode, autograph=False, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    assert graph(tf.constant(lines)).to_list() == eager
    dataset = tf.data.Dataset.from_tensor_slices(lines).batch(7).map(text.encode).unbatch()
    assert [ids.numpy().tolist() for ids in dataset] == eager


def test_save_and_load(text, tmp_path):
    text.save(tmp_path, "source")
    again = load_text(tmp_path, "source", text.config)
    lines = tf.constant(["Some words, unseen too.", ""])
    assert again.vocabulary.tokens == text.vocabulary.tokens
    assert again.encode(lines).to_list() == text.encode(lines).to_list()


def test_the_unicode_form_is_that_of_python():
    lines = ["e\u0301 ﬁ ½ … Å ｆｕｌｌ", "\u1e9b\u0323 한 №"]
    text = build_text(TextConfig(), lines)
    tokenizer = sacremoses.MosesTokenizer("en")
    expected = [
        tokenizer.tokenize(unicodedata.normalize("NFC", line), escape=False) for line in lines
    ]
    assert [
        [token.decode() for token in row] for row in text.tokenize(tf.constant(lines)).to_list()
    ] == expected


def test_invalid_bytes_become_the_replacement_character():
    text = build_text(TextConfig(), ["a"])
    assert text.tokenize(tf.constant([b"a\xffb \xc3", b"\xed\xa0\x80c"])).to_list() == [
        [token.encode() for token in tokens]
        for tokens in (["a", "\ufffd", "b", "\ufffd"], ["\ufffd"] * 3 + ["c"])
    ]


def test_lower_case_comes_after_the_tokens():
    """Mr. keeps its period because it is an abbreviation, and only with its capital."""
    text = build_text(TextConfig(lowercase=True), ["Mr. X"])
    assert text.tokenize(tf.constant(["Mr. ÉCOLE"])).to_list() == [[b"mr.", "école".encode()]]


def test_moses_tokens_are_read_as_the_text_that_they_are_of(text):
    """Escaped or not; with spaces as the only rule, as they are."""
    lines = ["It isn't Mr. O'Neill's \"5,300\" dogs ( & [cats] ) ."]
    if text.config.tokenization == "space":
        assert strings(text.text_of_moses(lines)) == lines
        return
    tokenizer = sacremoses.MosesTokenizer(text.config.language)
    detokenizer = sacremoses.MosesDetokenizer(text.config.language)
    for escape in (True, False):
        tokens = [tokenizer.tokenize(line, escape=escape) for line in lines]
        texts = text.text_of_moses([" ".join(row) for row in tokens])
        assert strings(texts) == [detokenizer.detokenize(row) for row in tokens]


def test_space_leaves_tokens_alone():
    text = build_text(TextConfig(tokenization="space"), ["it 's n't ( x ) ."])
    line = "it 's ( n't ) ."
    assert strings(text.decode(text.encode(tf.constant([line])))) == [line]


@pytest.mark.parametrize("name", ["moses", "vocabulary", "pipeline"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"rnnsearch_tf.text.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0


def test_every_white_space_of_unicode_ends_a_word(text):
    """Also the rare ones, such as the Ogham space and the mathematical one."""
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    assert len(spaces) == 29 and {"\u1680", "\u205f"} < set(spaces)
    [plain] = text.tokenize(tf.constant(["été là"])).to_list()
    assert text.tokenize(
        tf.constant([f"{space}été{space}{space}là{space}" for space in spaces])
    ).to_list() == [plain] * len(spaces)
