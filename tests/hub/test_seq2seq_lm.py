"""The models of keras-nlp: presets that go round, the text of Translator, fit on raw pairs, samplers of keras-nlp."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tiny_run import write_run

keras_nlp = pytest.importorskip("keras_nlp")

import rnnsearch_tf  # noqa: E402
from rnnsearch_tf.cli.main import run as command  # noqa: E402
from rnnsearch_tf.config import as_dictionary, load_config  # noqa: E402
from rnnsearch_tf.data.phrasebook import phrasebook  # noqa: E402
from rnnsearch_tf.errors import UsageError, UserError  # noqa: E402
from rnnsearch_tf.hub import (  # noqa: E402
    RNNSearchBackbone, RNNSearchSeq2SeqLM, RNNSearchSeq2SeqLMPreprocessor, RNNSearchTokenizer, run_to_preset,
)
from rnnsearch_tf.hub.seq2seq_lm import _texts  # noqa: E402

TEXTS = ["My sister sells an old book.", "the red car", "", "A much longer sentence, which is about nothing at all, is cut.", "été ☃"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("hub") / "run", ["source.tokenization=sentencepiece", "source.vocabulary_size=60"])


@pytest.fixture(scope="module")
def preset(run):
    folder = run.parent / "preset"
    run_to_preset(run, folder)
    return folder


@pytest.fixture(scope="module")
def model(preset):
    return keras_nlp.models.Seq2SeqLM.from_preset(str(preset))


def texts(translations):
    return [translation.text for translation in translations]


def test_generate_is_translate_to_the_character(run, model):
    expected = texts(rnnsearch_tf.Translator.load(run).translate(TEXTS))
    assert isinstance(model, RNNSearchSeq2SeqLM)
    assert model.generate(TEXTS) == expected
    assert model.generate(TEXTS[0]) == expected[0]
    assert model.generate(tf.constant(TEXTS)) == expected
    assert model.generate(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2)) == expected


def test_a_fresh_process_needs_the_import_and_the_folder(preset, model):
    code = (
        f"import rnnsearch_tf.hub, keras_nlp\nmodel = keras_nlp.models.Seq2SeqLM.from_preset({str(preset)!r})\n"
        f"print(model.generate({TEXTS[0]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.stdout.splitlines()[-1:] == [model.generate(TEXTS[0])], done.stderr[-2000:]


def test_a_run_goes_to_a_preset_and_back(run, tmp_path, capsys):
    assert command(["preset", str(run), str(tmp_path / "preset")]) == 0
    assert command(["preset", str(tmp_path / "preset"), str(tmp_path / "back")]) == 0
    before, after = (rnnsearch_tf.Translator.load(path) for path in (run, tmp_path / "back"))
    weights = before.model.paper_weights()
    for letter, value in after.model.paper_weights().items():
        np.testing.assert_array_equal(value, weights[letter])
    assert texts(after.translate(TEXTS)) == texts(before.translate(TEXTS))
    assert "from_preset" in (tmp_path / "preset" / "README.md").read_text(encoding="utf-8")
    assert command(["preset", str(run), str(tmp_path / "preset")]) == 1
    assert "found something" in capsys.readouterr().err
    with pytest.raises(UserError):
        run_to_preset(tmp_path, tmp_path / "new")


@pytest.mark.parametrize("sampler", [keras_nlp.samplers.BeamSampler(num_beams=3), "top_k"])
def test_samplers_of_keras_nlp(model, sampler):
    model.compile(sampler=sampler)
    try:
        given = model.generate(TEXTS[:2], max_length=7)
    finally:
        model.compile()
    assert len(given) == 2 and all(len(text.split()) <= 7 for text in given)


def test_the_greedy_sampler_takes_the_likeliest_word_of_the_training_graph(model):
    inputs = model.preprocessor.generate_preprocess(TEXTS[:2], sequence_length=6)
    model.compile(sampler="greedy")
    try:
        ids = np.asarray(model.generate_step(inputs)["decoder_token_ids"])
    finally:
        model.compile()
    logits = np.asarray(model(inputs | {"decoder_token_ids": tf.constant(ids)}))
    np.testing.assert_array_equal(ids[:, 1:], logits.argmax(axis=-1)[:, :-1])


def test_search_options_that_are_set_later_count(model):
    before, longer = model.search, model.generate(TEXTS[:1])
    model.search = before | {"maximum_length_ratio": 0.1}
    try:
        assert len(model.generate(TEXTS[:1])[0].split()) <= 2 < len(longer[0].split())
        model.search = before
        assert model.generate(TEXTS[:1]) == longer
    finally:
        model.search = before


def test_one_long_text_makes_no_long_array_of_all():
    texts = ["short"] * 5 + ["x" * 10_000]
    assert _texts(texts) is texts
    assert _texts(np.array(["a", "b"])) == ["a", "b"] and _texts(tf.constant(["é"])) == ["é".encode()]


def test_what_the_default_search_does_not_take(model):
    with pytest.raises(UsageError, match="max_length"):
        model.generate(TEXTS, max_length=5)


def test_it_learns_from_raw_pairs_and_its_logits_are_those_of_training():
    config = load_config("phrasebook", overrides=["model.hidden_size=48", "model.embedding_size=32"])
    sources, targets = map(list, phrasebook(60, 1, "train"))
    source, target = (
        RNNSearchTokenizer(rnnsearch_tf.build_text(getattr(config, side), lines)) for side, lines in (("source", sources), ("target", targets))
    )
    backbone = RNNSearchBackbone(source.vocabulary_size(), target.vocabulary_size(), as_dictionary(config)["model"])
    model = RNNSearchSeq2SeqLM(backbone, RNNSearchSeq2SeqLMPreprocessor(target, source, 14, 14), {"beam_size": 3})
    model.compile(optimizer=rnnsearch_tf.build_optimizer(config.training))
    history = model.fit(sources, targets, batch_size=20, epochs=2, verbose=0).history
    assert history["loss"][1] < history["loss"][0] and history["perplexity"][1] < history["perplexity"][0]
    inputs, labels, weights = model.preprocessor(sources[:4], targets[:4])
    system_inputs = {"source_ids": inputs["encoder_token_ids"], "target_ids": tf.cast(labels, tf.int32)}
    expected = backbone.system(system_inputs)
    real = np.asarray(weights) > 0
    np.testing.assert_allclose(np.asarray(model(inputs))[real], np.asarray(expected)[real], rtol=1e-5, atol=1e-5)


def test_a_tokenizer_says_what_its_text_says(run):
    lines = phrasebook(50, 1, "train")[1]
    text = rnnsearch_tf.build_text(load_config(run / "config.yaml").target, lines)
    tokenizer = RNNSearchTokenizer(text)
    ids = tokenizer(lines[:3])
    assert ids == [row[:-1] for row in text.encode(tf.constant(lines[:3])).to_list()]  # keras-nlp gives lists outside of tf.data
    assert [value.decode() for value in tokenizer.detokenize(ids).numpy()] == list(lines[:3])
    assert tokenizer.detokenize(tokenizer(lines[0])).numpy().decode() == lines[0]
    assert tokenizer.get_vocabulary() == list(text.vocabulary.tokens) and tokenizer.vocabulary_size() == text.vocabulary.size
    assert tokenizer.token_to_id(tokenizer.id_to_token(4)) == 4


@pytest.mark.parametrize("damage", [
    lambda folder: (folder / "model.weights.h5").write_bytes(b"none"),
    lambda folder: (folder / "config.json").write_text("{}"),
    lambda folder: (folder / "task.json").write_text("["),
])
def test_a_damaged_preset_is_an_error_in_words(preset, tmp_path, capsys, damage):
    copy = tmp_path / "copy"
    shutil.copytree(preset, copy)
    damage(copy)
    assert command(["preset", str(copy), str(tmp_path / "run")]) == 1
    assert f"{copy}: expected a preset that `rnnsearch preset` or save_to_preset wrote" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
