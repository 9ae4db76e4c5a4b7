"""What a notebook may hand in by mistake: an error that says so, never numbers that mean something
else.
"""

import pathlib

import numpy as np
import pytest
from tiny_rnnsearch import tiny_model
from tiny_run import write_run

from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.opening import open_translator
from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.translation import Translator


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return Translator.load(write_run(tmp_path_factory.mktemp("python") / "run"))


@pytest.mark.parametrize("method", ["translate", "score_targets", "sample"])
@pytest.mark.parametrize(
    "texts, message",
    [
        (
            "one string",
            "expected a list of sentences, got str 'one string'; one sentence goes in a list too",
        ),
        (b"bytes", "expected a list of sentences, got bytes"),
        (None, "expected a list of sentences, got NoneType"),
        ([None], r"\[0\]: expected a sentence as str, got NoneType None"),
        (["fine", 3], r"\[1\]: expected a sentence as str, got int 3"),
        (["fine", ["x"]], r"\[1\]: expected a sentence as str, got list"),
    ],
)
def test_what_is_no_sentence(translator, method, texts, message):
    more = {"translate": (), "score_targets": (["a"],), "sample": (1,)}[method]
    if method == "translate" and isinstance(texts, (str, bytes)):
        pytest.skip("one sentence is translated")
    with pytest.raises(UsageError, match=message):
        getattr(translator, method)(texts, *more)


def test_unequal_numbers_of_sources_and_targets(translator):
    with pytest.raises(UsageError, match="expected as many targets as sources, 2, got 1; give"):
        translator.score(["a", "b"], ["c"])


def test_one_sentence_has_one_translation(translator):
    for text, beam_size in (("The door is white.", 3), (b"She goes.", 5)):
        one = translator.translate(text, beam_size=beam_size)
        [expected] = translator.translate([text], beam_size=beam_size)
        assert (one.text, one.score, one.tokens) == (expected.text, expected.score, expected.tokens)
    assert translator.translate("").text == ""


def test_a_generator_is_read_like_a_list(translator):
    lines = ["The door is white.", "", "She goes."]
    expected = [t.text for t in translator.translate(lines)]
    assert [t.text for t in translator.translate(line for line in lines)] == expected
    assert translator.score((line for line in lines), iter(lines)) == translator.score(lines, lines)
    assert [len(samples) for samples in translator.sample(iter(lines), 2)] == [2, 2, 2]


@pytest.mark.parametrize(
    "temperature", [0, -1.0, float("nan"), float("inf"), np.float32(0), "1", None]
)
def test_temperatures_that_are_none(translator, temperature):
    with pytest.raises(UsageError, match="temperature: expected a finite number above 0, got"):
        translator.sample(["a"], 1, temperature=temperature)


@pytest.mark.parametrize("number", [0, 2.5, "2", None])
def test_numbers_of_samples_that_are_none(translator, number):
    with pytest.raises(UsageError, match=r"number: expected a whole number .*, got '?[02N]"):
        translator.sample(["a"], number)


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, "1", None])
def test_seeds_that_are_none(translator, seed):
    with pytest.raises(UsageError, match="seed: expected a whole number from 0 to 2147483647, got"):
        translator.sample(["a"], 1, seed=seed)


def test_a_seed_of_numpy_is_a_seed(translator):
    lines = ["The door is white.", "She goes."]
    assert translator.sample(lines, 2, seed=7) == translator.sample(
        lines, np.int8(2), seed=np.int32(7)
    )
    assert translator.sample(lines, 2, seed=7) != translator.sample(lines, 2, seed=8)


def test_weights_that_are_nan(tmp_path):
    translator = Translator.load(write_run(tmp_path / "run"))
    translator.model.output_layer.W_o.assign(np.nan * translator.model.output_layer.W_o)
    for beam_size in (1, 3):
        with pytest.raises(
            UserError,
            match=("sentence 2 .'The door is white .'.: expected finite probabilities, got none"),
        ):
            translator.translate(["", "The door is white."], beam_size=beam_size)


def compiled(**options):
    model = tiny_model("float32")
    model.compile(optimizer="sgd", loss=TranslationLoss(), **options)
    return model


def test_no_run_at_all(tmp_path):
    for call in (
        lambda: open_translator([]),
        lambda: Translator.load([]),
        lambda: export_model([], tmp_path / "served"),
    ):
        with pytest.raises(UsageError, match="path of a run folder, .* got an empty list"):
            call()


def test_the_name_of_a_configuration_as_a_path():
    assert load_config(pathlib.Path("phrasebook")) == load_config("phrasebook")


def test_a_file_and_values_are_not_given_together():
    """Values would be ignored beside the file."""
    with pytest.raises(UsageError, match="expected path or values, got both, phrasebook and train"):
        load_config("phrasebook", values={"training": {"epochs": 77}})
    assert load_config("phrasebook", values={}).training.epochs == 1000
