"""Against keras-nlp: its perplexity, and its SentencePiece tokenizer reading our model file."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, ModelConfig, TextConfig
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.text.pipeline import build_text

keras_nlp = pytest.importorskip("keras_nlp")


def test_perplexity_is_that_of_keras_nlp():
    sizes = dict(embedding_size=3, hidden_size=4, alignment_size=5, maxout_size=3, output_rank=None)
    model = RNNSearch(ModelConfig(**sizes, initialization="variance_preserving"), 9, 8)
    model.compile(loss=TranslationLoss())
    generator = np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(weight + 0.5 * generator.normal(size=weight.shape))
    ids = tf.constant([[3, 4, 5, 1], [6, 1, 0, 0], [7, 7, 1, 0]])
    batch = {"source_ids": ids, "target_ids": ids}
    theirs = keras_nlp.metrics.Perplexity(from_logits=True, mask_token_id=PAD_ID)
    theirs.update_state(ids, model(batch))
    ours = model.evaluate(tf.data.Dataset.from_tensors(batch), verbose=0, return_dict=True)
    assert float(theirs.result()) == pytest.approx(ours["perplexity"], rel=1e-5)
    assert float(np.log(theirs.result())) == pytest.approx(ours["loss"], rel=1e-5)


def test_their_sentencepiece_tokenizer_gives_our_ids(tmp_path):
    lines, _ = phrasebook(300, "train")
    text = build_text(TextConfig(tokenization="sentencepiece", vocabulary_size=120), lines)
    text.save(tmp_path, "source")
    model = (tmp_path / "source.spm.model").read_bytes()
    theirs = keras_nlp.tokenizers.SentencePieceTokenizer(proto=model)
    packed = keras_nlp.layers.StartEndPacker(60, end_value=1, pad_value=PAD_ID)(theirs(lines[:50]))
    np.testing.assert_array_equal(
        packed, text.encode(tf.constant(lines[:50])).to_tensor(PAD_ID, shape=[None, 60])
    )
