"""Presets that go round, their checksums, and what damage to them says."""

import logging
import shutil
import subprocess
import sys

import keras_nlp
import numpy as np
import pytest
from keras_hub.src.utils import preset_utils
from words_by_hand import small_model

import rnnsearch_tf
from rnnsearch_tf.cli.main import run as command
from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.extras.hub import (
    RNNSearchBackbone,
    RNNSearchSeq2SeqLM,
    preset_to_run,
    run_to_preset,
)

TEXTS = ["My sister sells an old book.", "the red car", "", "été ☃"]
VOCABULARY = "assets/tokenizer/vocabulary.text.txt"


@pytest.fixture
def copy(preset, tmp_path):
    return shutil.copytree(preset, tmp_path / "copy")


def texts(translations):
    return [translation.text for translation in translations]


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
    assert "warning" not in done.stderr


def test_a_run_goes_to_a_preset_and_back(run, tmp_path, capsys):
    assert command(["preset", str(run), str(tmp_path / "preset")]) == 0
    assert command(["preset", str(tmp_path / "preset"), str(tmp_path / "back")]) == 0
    before, after = (rnnsearch_tf.Translator.load(path) for path in (run, tmp_path / "back"))
    weights = before.model.paper_weights()
    for letter, value in after.model.paper_weights().items():
        np.testing.assert_array_equal(value, weights[letter])
    assert texts(after.translate(TEXTS)) == texts(before.translate(TEXTS))
    data = after.config.data
    assert (data.maximum_source_length, data.maximum_target_length) == (40, 12)
    card = (tmp_path / "preset" / "README.md").read_text(encoding="utf-8")
    assert "from_preset" in card
    assert 'language: ["en", "fr"]\n' in card  # YAML reads a bare no, Norwegian, as False
    assert command(["preset", str(run), str(tmp_path / "preset")]) == 1
    assert "expected a new folder, found an existing one" in capsys.readouterr().err
    with pytest.raises(UserError):
        run_to_preset(tmp_path, tmp_path / "new")


def sha256sum(folder):
    """What coreutils says of the preset's files."""
    return subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_save_to_preset_writes_checksums_of_all_files(tmp_path, caplog):
    folder = tmp_path / "preset"
    model = small_model("mixed_bfloat16")
    model.save_to_preset(folder)
    done = sha256sum(folder)
    assert done.returncode == 0, done.stdout
    named = {line.split(": ")[0] for line in done.stdout.splitlines()}
    assert named == {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    } - {"SHA256SUMS"}
    weight = model.backbone.system.trainable_variables[0]
    weight.assign(weight + 1)
    model.backbone.save_to_preset(folder)  # a part that is saved again has new checksums
    assert sha256sum(folder).returncode == 0
    preset_to_run(folder, tmp_path / "run")
    assert load_config(tmp_path / "run" / "config.yaml").training.precision == "mixed_bfloat16"
    loaded = RNNSearchSeq2SeqLM.from_preset(folder)
    assert loaded.dtype_policy.name == "mixed_bfloat16"
    np.testing.assert_array_equal(loaded.backbone.system.trainable_variables[0], weight)
    assert (
        keras_nlp.models.Seq2SeqLM.from_preset(
            str(folder), dtype="mixed_bfloat16"
        ).dtype_policy.name
        == "mixed_bfloat16"
    )
    assert "no checksum" not in caplog.text


def flip(path):
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)


def swap(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[40], lines[41] = lines[41], lines[40]
    path.write_text("".join(lines), encoding="utf-8")


def cut(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:40] + lines[41:]), encoding="utf-8")


def close_brace(path):
    path.write_text("{", encoding="utf-8")


def slower(path):
    text = path.read_text(encoding="utf-8")
    assert '"beam_size": 3' in text
    path.write_text(text.replace('"beam_size": 3', '"beam_size": 1'), encoding="utf-8")


DAMAGE = [
    ("model.weights.h5", flip),
    (VOCABULARY, swap),
    (VOCABULARY, lambda path: path.unlink()),
    ("task.json", slower),
    ("config.json", close_brace),
    ("assets/source_tokenizer/text.spm.model", flip),
]


@pytest.mark.parametrize("name, damage", DAMAGE)
def test_damage_is_an_error_that_names_the_file(copy, tmp_path, capsys, name, damage):
    damage(copy / name)
    assert command(["preset", str(copy), str(tmp_path / "run")]) == 1
    error = capsys.readouterr().err
    assert f"{copy / name}: expected the file that was saved" in error and "Traceback" not in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name, damage", [row for row in DAMAGE if row[0] != "config.json"])
def test_keras_hubs_own_loader_sees_damage(copy, name, damage):
    damage(copy / name)
    with pytest.raises(UserError, match=f"{name}: expected the file that was saved"):
        keras_nlp.models.Seq2SeqLM.from_preset(str(copy))


@pytest.fixture
def downloaded(copy, tmp_path, monkeypatch):
    """The folder that files of ``hf://me/model`` come to, one by one, in place of a download; they
    come from `copy`.
    """
    cache = tmp_path / "cache"

    def download(repo_id, filename):
        assert repo_id == "me/model"
        if not (copy / filename).is_file():
            raise preset_utils.EntryNotFoundError(filename)
        (cache / filename).parent.mkdir(parents=True, exist_ok=True)
        return shutil.copy(copy / filename, cache / filename)

    monkeypatch.setattr(preset_utils.huggingface_hub, "hf_hub_download", download)
    return cache


@pytest.mark.parametrize(
    "name, damage",
    [row for row in DAMAGE if row[0] not in ("config.json", VOCABULARY)] + [(VOCABULARY, swap)],
)
def test_damage_to_what_is_downloaded_is_seen(copy, downloaded, name, damage):
    damage(copy / name)
    for loads in (keras_nlp.models.Seq2SeqLM, RNNSearchSeq2SeqLM):
        with pytest.raises(
            UserError, match=f"{downloaded / name}: expected the file that was saved"
        ):
            loads.from_preset("hf://me/model")


def test_what_is_downloaded_and_whole_loads(copy, downloaded, model, caplog):
    loaded = RNNSearchSeq2SeqLM.from_preset("hf://me/model")
    assert loaded.generate(TEXTS) == model.generate(TEXTS) and caplog.text == ""
    (copy / "SHA256SUMS").unlink()
    shutil.rmtree(downloaded)
    keras_nlp.models.Seq2SeqLM.from_preset("hf://me/model")
    assert caplog.text.count("no checksum") == 1


def test_a_preset_that_does_not_exist_is_not_said_to_lack_checksums(caplog):
    with pytest.raises(ValueError, match="Unknown preset identifier"):
        RNNSearchSeq2SeqLM.from_preset("presets/nowhere")
    assert caplog.text == ""


def test_the_backbone_of_a_download_by_itself_sees_damage(copy, downloaded):
    flip(copy / "model.weights.h5")
    with pytest.raises(UserError, match="expected the file that was saved"):
        RNNSearchBackbone.from_preset("hf://me/model")


def test_one_part_by_itself_sees_damage(copy):
    swap(copy / VOCABULARY)
    with pytest.raises(UserError, match="expected the file that was saved"):
        keras_nlp.tokenizers.Tokenizer.from_preset(str(copy))
    flip(copy / "model.weights.h5")
    with pytest.raises(UserError, match="expected the file that was saved"):
        keras_nlp.models.Backbone.from_preset(str(copy))


def test_a_preset_without_checksums_loads_with_one_warning(copy, model, tmp_path, caplog, capsys):
    (copy / "SHA256SUMS").unlink()
    for _ in range(2):
        with caplog.at_level(logging.WARNING, "rnnsearch_tf"):
            loaded = keras_nlp.models.Seq2SeqLM.from_preset(str(copy))
    assert caplog.text.count("no checksum of") == 1
    np.testing.assert_array_equal(
        loaded.backbone.trainable_variables[0], model.backbone.trainable_variables[0]
    )
    cut(copy / VOCABULARY)
    assert command(["preset", str(copy), str(tmp_path / "run")]) == 1
    assert "target vocabulary: expected the model's" in capsys.readouterr().err
    (copy / "model.weights.h5").write_bytes(b"none")
    assert command(["preset", str(copy), str(tmp_path / "run")]) == 1
    assert (
        f"{copy}: expected a preset that `rnnsearch preset` or save_to_preset wrote"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "run").exists()


def test_a_backbone_may_be_cloned():
    model = small_model()
    again = keras.models.clone_model(model.backbone)
    assert again.count_params() == model.backbone.count_params()
