"""Text, one side of the model: tokens, ids and back, in every mode and of any bytes."""

import json
import os
import subprocess
import sys
import unicodedata

import pytest
import sacremoses
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tricky_sentences import BY_LANGUAGE

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.pipeline import build_text, load_text, normalize

CONFIGS = {
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
    assert again.same_as(text) and again.vocabulary.tokens == text.vocabulary.tokens
    assert again.encode(lines).to_list() == text.encode(lines).to_list()


def test_moses_tokens_are_read_as_the_text_that_they_are_of(text):
    """Escaped or not, and an escaped escape is text; with spaces as the only rule, as they are."""
    lines = ["It isn't Mr. O'Neill's \"5,300\" dogs ( & [cats] ) &lt; ."]
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


def test_lower_case_comes_after_the_tokens():
    """Mr. keeps its period because it is an abbreviation, and only with its capital."""
    text = build_text(TextConfig(lowercase=True), ["Mr. X"])
    assert text.tokenize(tf.constant(["Mr. ÉCOLE"])).to_list() == [[b"mr.", "école".encode()]]


LOWER = """
import json, sys
import tensorflow as tf
from rnnsearch_tf.text.casing import lower

lines = lower(tf.constant(json.load(sys.stdin))).numpy()
print(json.dumps([line.decode("utf-8") for line in lines]))
"""


@pytest.mark.parametrize("locale", ["tr_TR", pytest.param("lt_LT", marks=pytest.mark.slow)])
def test_lower_case_is_that_of_python_in_every_locale(locale):
    # Python's tables have letters that TensorFlow's lack, and the other way round
    old = unicodedata.ucd_3_2_0
    lines = [chr(code) for code in range(0x20000) if old.category(chr(code))[0] == "L"]
    lines += ["I IN TITLE", "ΟΔΟΣ", "I\u0307", "I\u0301 J\u0303 Į\u0300 i\u0307\u0301"]
    result = subprocess.run(
        [sys.executable, "-c", LOWER],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": f"{locale}.UTF-8", "LANG": f"{locale}.UTF-8"},
        check=True,
    )
    assert json.loads(result.stdout) == [line.lower() for line in lines]


def test_every_white_space_of_unicode_ends_a_word(text):
    """Also the rare ones, such as the Ogham space and the mathematical one."""
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    [plain] = text.tokenize(tf.constant(["été là"])).to_list()
    assert text.tokenize(
        tf.constant([f"{space}été{space}{space}là{space}" for space in spaces])
    ).to_list() == [plain] * len(spaces)


def test_what_nobody_sees_changes_nothing(text):
    """Before, within and after; a line of it alone is empty; letter and mark meet across it. The
    joiners of Persian and of emoji stay.
    """
    lines = ["She has never been to Paris.", "L'été, à côté.", "می‌خواهم", "👩‍👩‍👧"]
    plain = text.tokenize(tf.constant(lines)).to_list()
    assert "\u200c".encode() in b"".join(plain[2]) and "\u200d".encode() in b"".join(plain[3])
    for sign in "\u0080\u009f\u00ad\u200b\u200e\u200f\u202a\u202e\u2060\u2064\u2066\u2069\ufeff":
        placed = [
            [sign + line, line[:2] + sign + line[2:], line + sign, f"{sign}{sign} {line}"]
            for line in lines
        ]
        for forms, tokens in zip(placed, plain):
            assert text.tokenize(tf.constant(forms)).to_list() == [tokens] * 4, hex(ord(sign))
        assert text.tokenize(tf.constant([sign, f" {sign}\t"])).to_list() == [[], []]
        assert strings(normalize(tf.constant([f"e{sign}\u0301te{sign}\u0301"]))) == ["été"]


def test_the_unicode_form_is_that_of_python():
    lines = ["e\u0301 ﬁ ½ … Å ｆｕｌｌ", "\u1e9b\u0323 한 №", "a" + "\u0301\u0323" * 15]
    assert strings(normalize(tf.constant(lines))) == [
        unicodedata.normalize("NFC", line) for line in lines
    ]


def test_invalid_bytes_become_the_replacement_character():
    assert strings(normalize(tf.constant([b"a\xffb \xc3", b"\xed\xa0\x80c"]))) == [
        "a\ufffdb \ufffd",
        "\ufffd\ufffd\ufffdc",
    ]
