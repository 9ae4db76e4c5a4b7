"""Presets that go round."""

import subprocess
import sys

import keras_nlp
import numpy as np
import pytest
from tiny_run import write_run
from words_by_hand import small_model

import rnnsearch_tf
from rnnsearch_tf.cli.main import run as command
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.hub import RNNSearchSeq2SeqLM, run_to_preset

TEXTS = ["My sister sells an old book.", "the red car", "", "été ☃"]


@pytest.mark.slow
def test_a_fresh_process_needs_the_import_and_the_folder(preset, model):
    code = (
        "import rnnsearch_tf.extras.hub, keras_nlp\nmodel ="
        f" keras_nlp.models.Seq2SeqLM.from_preset({str(preset)!r})\n"
        f"print(model.generate({TEXTS[0]!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=120
    )
    assert done.stdout.splitlines()[-1:] == [model.generate(TEXTS[0])], done.stderr[-2000:]


def test_a_run_goes_to_a_preset_and_back(run, tmp_path, capsys):
    settings = ["--set", "search.beam_size=3"]
    assert command(["preset", str(run), str(tmp_path / "preset"), *settings]) == 0
    RNNSearchSeq2SeqLM.from_preset(tmp_path / "preset").translator.save(tmp_path / "back")
    before, after = (rnnsearch_tf.Translator.load(path) for path in (run, tmp_path / "back"))
    weights = before.model.paper_weights()
    for letter, value in after.model.paper_weights().items():
        np.testing.assert_array_equal(value, weights[letter])
    assert after.source_text.same_as(before.source_text)
    assert after.target_text.same_as(before.target_text)
    assert after.config.data.maximum_length == 40
    assert after.config.search.beam_size == 3
    card = (tmp_path / "preset" / "README.md").read_text(encoding="utf-8")
    assert "from_preset" in card
    assert 'language: ["en", "fr"]\n' in card  # YAML reads a bare no, Norwegian, as False


def test_a_language_model_has_no_preset(tmp_path):
    words = ["system=cslm", "second_hidden_size=6", "alignment_size=1000", "maxout_size=500"]
    settings = [f"model.{word}" for word in [*words, "output_rank=620"]]
    run = write_run(tmp_path / "run", settings, unknown_words=None)
    with pytest.raises(UsageError, match="preset: expected a translation model"):
        run_to_preset(run, tmp_path / "preset")
    assert not (tmp_path / "preset").exists()


def test_a_saved_model_keeps_its_dtype_and_weights(tmp_path):
    model = small_model("mixed_bfloat16")
    model.save_to_preset(tmp_path)
    weight = model.backbone.system.trainable_variables[0]
    loaded = RNNSearchSeq2SeqLM.from_preset(tmp_path)
    theirs = keras_nlp.models.Seq2SeqLM.from_preset(str(tmp_path), dtype="mixed_bfloat16")
    for each in (loaded, theirs):
        assert each.dtype_policy.name == "mixed_bfloat16"
        np.testing.assert_array_equal(each.backbone.system.trainable_variables[0], weight)
