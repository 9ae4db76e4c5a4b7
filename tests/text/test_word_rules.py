"""Moses tokens, true case and byte-pair codes together: raw text in, raw text out."""

import dataclasses
import subprocess
import sys
import unicodedata

import pytest
import sacremoses
import tensorflow as tf
from reference_rules import learned_codes, learned_truecaser, lists, their_pieces
from tricky_sentences import BY_LANGUAGE

from rnnsearch_tf.config import SPECIAL_TOKENS, TextConfig
from rnnsearch_tf.data.prepared import writing
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.words import tokenized, written_tokens
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text import bpe
from rnnsearch_tf.text.pipeline import Text, TracedText, build_text, extend_texts, load_text
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.translation import Translation

pytest.importorskip("subword_nmt")

LINES = [
    *(unicodedata.normalize("NFC", line) for line in BY_LANGUAGE["de"]),
    "Die Katze schläft. Der Hund auch!",
    'Er sagt: "die Katzen" (und Hunde) schlafen.',
] * 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(path of a truecasing model, path of codes, sacremoses' truecaser, the codes)."""
    folder = tmp_path_factory.mktemp("rules")
    tokenizer = sacremoses.MosesTokenizer("de")
    rows = [tokenizer.tokenize(line, escape=False) for line in LINES]
    truecaser = learned_truecaser(rows, folder / "truecase")
    cased = [truecaser.truecase(" ".join(row), use_known=True) for row in rows]
    codes = learned_codes(cased, 60)
    (folder / "codes").write_text(codes, encoding="utf-8")
    return folder / "truecase", folder / "codes", truecaser, codes


@pytest.fixture(scope="module")
def config(files):
    return TextConfig(language="de", truecase=str(files[0]), bpe_codes=str(files[1]))


@pytest.fixture(scope="module")
def text(config):
    return build_text(config, LINES)


def their_tokens(files, lines):
    tokenizer = sacremoses.MosesTokenizer("de")
    rows = (tokenizer.tokenize(line, escape=False) for line in lines)
    cased = [files[2].truecase(" ".join(row), use_known=True) for row in rows]
    return their_pieces(files[3], cased)


def test_the_tokens_are_those_of_the_three_programs(text, files):
    assert lists(text.tokenize(LINES)) == their_tokens(files, LINES)
    assert any(token.endswith("@@") for token in text.vocabulary.tokens)


def test_the_vocabulary_is_that_of_the_pieces(text, files):
    pieces = {piece for row in their_tokens(files, LINES) for piece in row}
    assert set(text.vocabulary.tokens) == pieces | set(SPECIAL_TOKENS)


def test_the_text_is_that_of_the_programs_in_reverse(text, files):
    back, detokenizer = sacremoses.MosesDetruecaser(), sacremoses.MosesDetokenizer("de")
    rows = their_tokens(files, LINES)
    joined = (" ".join(row).replace("@@ ", "") for row in rows)
    expected = [detokenizer.detokenize(back.detruecase(line)) for line in joined]
    assert [line.decode() for line in text.detokenize(text.tokenize(LINES)).numpy()] == expected
    assert text.decode(text.encode(["die katze schläft."])).numpy()[0].decode().startswith("Die")


def test_each_option_alone(config, files):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "a"])
    lines = ["Die Katze. Die Hunde"]
    cased = Text(dataclasses.replace(config, bpe_codes=None), vocabulary)
    assert lists(cased.tokenize(lines)) == [
        files[2].truecase("Die Katze . Die Hunde", use_known=True)
    ]
    cut = Text(dataclasses.replace(config, truecase=None), vocabulary)
    assert lists(cut.tokenize(lines)) == their_pieces(
        files[3], [["Die", "Katze", ".", "Die", "Hunde"]]
    )
    assert cut.detokenize(cut.tokenize(["der Hund"])).numpy()[0] == b"der Hund"


def test_text_that_is_tokenized_already(text, config, files):
    line = "Er sagt &quot; die Katzen &quot; ."
    assert lists(text.words([line])) == [["er", "sagt", '"', "die", "Katzen", '"', "."]]
    assert lists(text.split([line])) == their_pieces(files[3], lists(text.words([line])))
    spaces = dataclasses.replace(config, tokenization="space")
    own = Text(spaces, Vocabulary([*SPECIAL_TOKENS, "&quot;"]))
    assert lists(own.tokenize([line])) == lists(own.split([line])) != lists(text.split([line]))
    assert own.detokenize(own.tokenize([line])).numpy()[0].decode() == line


@pytest.mark.parametrize("tokenization", ["moses", "space"])
def test_an_unknown_word_that_a_model_wrote_is_one_token(config, tokenization):
    text = Text(
        dataclasses.replace(config, tokenization=tokenization), Vocabulary([*SPECIAL_TOKENS, "a"])
    )
    tokens = lists(text.tokenize_translations(["die <unk> <unk> .", "<unk>", ""]))
    assert [row.count("<unk>") for row in tokens] == [2, 1, 0]
    assert tokens[0][-3:] == ["<unk>", "<unk>", "."] and tokens[1] == ["<unk>"]
    line = "die <unk> <unk> ."
    [given] = TracedText(text, translations=True).tokens_and_ids([line], tokenized=True)[0]
    assert given == tokens[0] != lists(text.split([line]))[0]


def test_escaped_tokens_are_those_of_the_programs(config, files, tmp_path):
    """As other programs were trained: truecasing and codes of escaped tokens."""
    tokenizer = sacremoses.MosesTokenizer("de")
    lines = [*LINES, '"Die well-known Katze" [a] & "Die Hunde"']
    rows = [tokenizer.tokenize(line, aggressive_dash_splits=True, escape=True) for line in lines]
    truecaser = learned_truecaser(rows, tmp_path / "truecase")
    cased = [truecaser.truecase(" ".join(row), use_known=True) for row in rows]
    codes = learned_codes(cased, 150)
    (tmp_path / "codes").write_text(codes, encoding="utf-8")
    rules = dict(truecase=str(tmp_path / "truecase"), bpe_codes=str(tmp_path / "codes"))
    settings = dataclasses.replace(config, escape=True, split_hyphens=True, **rules)
    text = build_text(settings, lines)
    assert lists(text.tokenize(lines)) == their_pieces(codes, cased)
    tokenized = [" ".join(row) for row in rows]
    assert lists(text.split(tokenized)) == lists(text.tokenize(lines))
    assert lists(text.words(tokenized)) == cased
    [back] = text.decode(text.encode(lines[-1:])).numpy()
    assert back.decode() == '"Die well-known Katze" [a] & "Die Hunde"'
    [unknown] = lists(text.tokenize_translations(["die <unk>"]))
    assert unknown[-1] == "<unk>"


def test_a_run_keeps_copies(text, config, files, tmp_path):
    text.save(tmp_path, "target")
    run = Run(tmp_path)
    assert run.bpe_codes("target").read_bytes() == files[1].read_bytes()
    assert run.truecase_model("target").read_bytes() == files[0].read_bytes()
    assert {path.name for path in run.text_files()} == {
        "vocabulary.target.txt",
        "target.truecase.model",
        "target.bpe.codes",
    }
    moved = dataclasses.replace(config, truecase="gone", bpe_codes="gone")
    again = load_text(tmp_path, "target", moved)
    assert lists(again.tokenize(LINES)) == lists(text.tokenize(LINES))
    assert again.same_as(text) and text.same_as(again)


def test_what_makes_two_texts_the_same(text, config, files, tmp_path):
    other = tmp_path / "codes"
    other.write_text("#version: 0.2\na b\n")
    for changed in (dict(bpe_codes=str(other)), dict(bpe_codes=None), dict(truecase=None)):
        assert not text.same_as(Text(dataclasses.replace(config, **changed), text.vocabulary))


def test_new_words_are_cut_by_the_same_codes(text, config, tmp_path):
    text.save(tmp_path, "source")
    moved = load_text(
        tmp_path, "source", dataclasses.replace(config, truecase="gone", bpe_codes="gone")
    )
    [longer, _] = extend_texts((moved, moved), [("Ωλδ", "Ωλδ")], 100)
    new = longer.vocabulary.tokens[text.vocabulary.size :]
    assert new and set(new) <= set(lists(text.tokenize(["Ωλδ"]))[0])
    assert longer.tokenize(LINES).to_list() == text.tokenize(LINES).to_list()


def test_tokens_of_the_papers_bleu_are_words(text):
    line = "Die Katze schläft. Der Hund auch!"
    words = "Die Katze schläft . Der Hund auch !"
    tokens = lists(text.tokenize([line]))[0]
    translation = Translation(text=line, tokens=tokens, score=0.0, log_probability=0.0)
    assert written_tokens(text, [translation]) == [words]
    assert tokenized(text, [line, "<unk> x"]) == [words, "<unk> x"]


def test_a_byte_order_mark_is_no_character(text, config, files, tmp_path):
    for file in files[:2]:
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8-sig")
    marked = dataclasses.replace(
        config, truecase=str(tmp_path / "truecase"), bpe_codes=str(tmp_path / "codes")
    )
    assert build_text(marked, LINES).same_as(text)


def test_a_missing_or_large_file_is_refused(config, monkeypatch):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "a"])
    with pytest.raises(
        UserError, match="^gone: expected BPE codes, got: No such file.*; check the path"
    ):
        Text(dataclasses.replace(config, bpe_codes="gone"), vocabulary)
    with pytest.raises(UserError, match="^gone: expected a truecasing model, got: No such file"):
        Text(dataclasses.replace(config, truecase="gone"), vocabulary)
    monkeypatch.setattr(bpe, "MOST_BYTES", 10)
    with pytest.raises(UserError, match="codes: expected BPE codes of at most 10 bytes, got"):
        Text(config, vocabulary)


def test_a_preparation_begins_again_with_other_codes(tmp_path):
    from rnnsearch_tf.config import load_config

    path = tmp_path / "codes"
    for option in ("bpe_codes", "truecase"):
        path.write_text("a (1/1)\n")
        config = load_config(overrides=["data.corpus=phrasebook", f"target.{option}={path}"])
        plan = writing._plan(config)
        path.write_text("a (1/1)\nb (1/1)\n")
        assert writing._plan(config) != plan


class Served(tf.Module):
    def __init__(self, text):
        super().__init__()
        self.text = text

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def both_ways(self, text):
        ids = self.text.encode(text)
        return {"ids": ids.to_tensor(), "text": self.text.decode(ids)}


def test_a_fresh_process_reads_a_saved_model_of_it(text, tmp_path):
    module = Served(text)
    tf.saved_model.save(module, str(tmp_path), signatures={"serving_default": module.both_ways})
    lines = [*LINES[:20], "", "unseen Wörter", "a"]
    program = f"""
import sys
import tensorflow as tf
import tensorflow_text  # Unicode normalization
answer = tf.saved_model.load({str(tmp_path)!r}).signatures["serving_default"]
for size in (1, 23):
    result = answer(tf.constant({lines!r}[:size]))
print([result["ids"].numpy().tolist(), result["text"].numpy().tolist()])
assert not any("rnnsearch" in name for name in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    ids = text.encode(lines)
    expected = [ids.to_tensor().numpy().tolist(), text.decode(ids).numpy().tolist()]
    assert found.stdout.strip().splitlines()[-1:] == [str(expected)], found.stderr[-2000:]


def test_in_tf_data(text):
    dataset = tf.data.Dataset.from_tensor_slices(LINES).batch(7).map(text.encode).unbatch()
    assert [ids.numpy().tolist() for ids in dataset] == text.encode(LINES).to_list()
