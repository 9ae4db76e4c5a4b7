"""Models that come with the package: weights in eight bits, found by name by everything that takes
a RUN.
"""

import numpy as np
import pytest
from tiny_run import write_run

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runs import eight_bit
from rnnsearch_tf.runs.folder import pretrained_models
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import load_model, load_run

LARGER = ["model.hidden_size=40", "model.embedding_size=40"]  # so that some matrices are quantized


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return Run(write_run(tmp_path_factory.mktemp("trained") / "run", LARGER))


@pytest.fixture
def packed(trained, tmp_path, monkeypatch):
    """A model named toy-model, made of the trained one."""
    run = Run(tmp_path / "toy-model")
    run.eight_bit_weights.parent.mkdir(parents=True)
    for path in (trained.config, *trained.text_files()):
        (run.path / path.name).write_bytes(path.read_bytes())
    eight_bit.save_weights(run.eight_bit_weights, load_model(trained).trainable_variables)
    run.model_card.write_text("# toy-model\n\nPhrases,\nto try.\n\n- BLEU: none\n")
    monkeypatch.setattr(
        "rnnsearch_tf.runs.folder.pretrained_models", lambda: {"toy-model": run.path}
    )
    return run


def test_no_weight_is_off_by_more_than_half_a_step(trained, packed):
    quantized = 0
    for exact, packed_weight in zip(
        load_model(trained).trainable_variables, load_model("toy-model").trainable_variables
    ):
        exact = np.asarray(exact)
        found = np.asarray(packed_weight)
        if exact.ndim < 2 or exact.size < 4096:
            np.testing.assert_array_equal(found, exact)
            continue
        quantized += 1
        step = np.abs(exact).max(axis=0) / 127
        assert (np.abs(found - exact) <= 0.5001 * step).all() and (found != exact).any()
    assert quantized > 1


def test_what_is_kept_in_full():
    """Matrices of fewer than 4096 entries, and vectors of any length: a bias would have one scale
    for all of it.
    """
    generator = np.random.default_rng(8)
    for shape, kept in (((64, 64), False), ((63, 65), True), ((4096,), True)):
        array = generator.normal(size=shape).astype(np.float32)
        values, scale = eight_bit.quantize(array)
        assert (scale is None) == kept
        assert values.dtype == (np.float32 if kept else np.int8)


def test_a_column_of_zeros_is_no_division_by_zero():
    """What 0 / 0 becomes as an int8 depends on the machine."""
    array = np.ones((64, 64), np.float32)
    array[:, 3] = 0.0
    with np.errstate(all="raise"):
        values, scale = eight_bit.quantize(array)
        np.testing.assert_array_equal(values * scale, array)
        np.testing.assert_array_equal(scale[0, 3] > 0, True)


@pytest.mark.parametrize("damage", ["cut", "gone", "of another size"])
def test_damage_is_an_error_in_words(packed, damage):
    path = packed.eight_bit_weights
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "gone":
        path.unlink()
    else:
        text = packed.config.read_text().replace("maxout_size: 8", "maxout_size: 9")
        packed.config.write_text(text)
    with pytest.raises(UserError, match="expected the weights"):
        load_run(packed)


@pytest.mark.parametrize("name", pretrained_models())
def test_those_of_the_package(name):
    folder = pretrained_models()[name]
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 8e6
    card = Run(folder).model_card.read_text(encoding="utf-8")
    assert "licence:" in card and "BLEU" in card
    assert name == "tatoeba-en-fr", "say what another one makes of the next line"
    translator = Translator.load(name)
    unseen = ["\u200b", "\ufeff", "\u200e", "\u00ad", "\u0091"]  # characters that nobody sees
    lines = ["Thank you.", *(f"{each}Thank you." for each in unseen), *unseen]
    texts = [found.text for found in translator.translate(lines)]
    assert texts == ["Merci."] * 6 + [""] * 5  # as people say it
