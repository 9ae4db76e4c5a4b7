"""The text pipeline in a SavedModel, read back by a session, as a server does."""

import pytest
import tensorflow as tf
from tricky_sentences import BY_LANGUAGE

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.pipeline import build_text

CONFIGS = {
    "words": TextConfig(language="fr"),
    "subwords": TextConfig(
        language="fr", tokenization="sentencepiece", vocabulary_size=400, lowercase=True
    ),
}


class Served(tf.Module):
    """Strings in, strings and ids out."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def both_ways(self, text):
        ids = self.text.encode(text)
        return {"ids": ids.to_tensor(), "text": self.text.decode(ids)}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_exported_text_gives_the_same_answers(config, tmp_path):
    text = build_text(config, BY_LANGUAGE["fr"])
    module = Served(text)
    tf.saved_model.save(module, str(tmp_path), signatures={"serving_default": module.both_ways})
    lines = BY_LANGUAGE["fr"] + [
        "unseen word",
        "",
        "invalid \udcff".encode("utf-8", "surrogateescape"),
    ]
    ids = text.encode(tf.constant(lines))
    expected_ids = ids.to_tensor().numpy().tolist()
    expected_text = text.decode(ids).numpy().tolist()

    again = tf.saved_model.load(str(tmp_path)).both_ways(tf.constant(lines))
    assert again["ids"].numpy().tolist() == expected_ids
    assert again["text"].numpy().tolist() == expected_text

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(tmp_path))
        signature = loaded.signature_def["serving_default"]
        names = {name: info.name for name, info in signature.outputs.items()}
        answer = session.run(names, {signature.inputs["text"].name: lines})
        operations = {node.op for node in loaded.graph_def.node}
        operations |= {
            node.op for function in loaded.graph_def.library.function for node in function.node_def
        }
    assert answer["ids"].tolist() == expected_ids
    assert answer["text"].tolist() == expected_text
    assert not {name for name in operations if "PyFunc" in name}
