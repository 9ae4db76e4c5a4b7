"""What Python may hand to a Translator by mistake is an error, never numbers that mean something
else.
"""

import numpy as np
import pytest
from tiny_run import write_run

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.opening import open_translator
from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.translation import Translator


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return Translator.load(write_run(tmp_path_factory.mktemp("python") / "run"))


@pytest.mark.parametrize("method, more", [("score_targets", (["a"],)), ("sample", (1,))])
@pytest.mark.parametrize(
    "texts, got",
    [
        ("one string", "str 'one string'"),
        (None, "NoneType"),
        (["fine", 3], r"\[1\]: expected a sentence as str, got int 3"),
    ],
)
def test_what_is_no_sentence(translator, method, more, texts, got):
    with pytest.raises(UsageError, match=got):
        getattr(translator, method)(texts, *more)


def test_unequal_numbers_of_sources_and_targets(translator):
    with pytest.raises(UsageError, match="expected as many targets as sources, 2, got 1; give"):
        translator.score(["a", "b"], ["c"])


def test_one_sentence_or_a_generator_is_translated_like_a_list(translator):
    lines = ["The door is white.", "", "She goes."]
    expected = translator.translate(lines)
    assert translator.translate(line for line in lines) == expected
    assert translator.score((line for line in lines), iter(lines)) == translator.score(lines, lines)
    one, other = translator.translate(lines[0]), translator.translate(lines[0].encode())
    assert (one.text, one.tokens) == (other.text, other.tokens)
    assert (one.text, one.tokens) == (expected[0].text, expected[0].tokens)
    assert translator.translate("").text == ""
    half, mark = translator.translate(["a\ud83d b", "a\ufffd\ufffd\ufffd b"])  # half of an emoji
    assert half.source_tokens == mark.source_tokens


@pytest.mark.parametrize(
    "options",
    [
        *({"temperature": value} for value in (0, -1.0, float("nan"), float("inf"), "1", None)),
        *({"number": value} for value in (0, 2.5, "2", None)),
        *({"seed": value} for value in (-1, 2**31, 1.5, "1", None)),
    ],
    ids=str,
)
def test_numbers_of_sampling_that_are_none(translator, options):
    [name] = options
    with pytest.raises(UsageError, match=f"^{name}: expected .* got"):
        translator.sample(["a"], **{"number": 1} | options)


def test_a_seed_of_numpy_is_a_seed(translator):
    lines = ["The door is white.", "She goes."]
    samples = translator.sample(lines, 2, seed=7)
    assert samples == translator.sample(lines, np.int8(2), seed=np.int32(7))
    assert samples != translator.sample(lines, 2, seed=8)


def test_weights_that_are_nan(tmp_path):
    translator = Translator.load(write_run(tmp_path / "run"))
    translator.model.output_layer.W_o.assign(np.nan * translator.model.output_layer.W_o)
    for beam_size in (1, 3):
        with pytest.raises(UserError, match="sentence 'The door is white .': expected finite"):
            translator.translate(["", "The door is white."], beam_size=beam_size)


def test_no_run_at_all(tmp_path):
    for call in (open_translator, Translator.load, lambda runs: export_model(runs, tmp_path / "s")):
        with pytest.raises(UsageError, match="path of a run folder, .* got an empty list"):
            call([])
