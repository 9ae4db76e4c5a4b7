"""What stands behind the attention page in its tests: models whose answers can be told beforehand.

A sentence is translated by turning the order of its words round and writing them in capitals; word
i looks at the word that it came from with weight 0.8, at the end of the sentence with 0.08, at the
first of the others with 0.09, and at the rest with what is left. The models:

    plain     tokens are words
    pieces    tokens are SentencePiece's, two characters each
    bare      nothing but translate
    blind     no attention: all weights are 0
    numbers   no translation model

Words of a sentence may ask for more: `doubtful` gives a word of confidence 0.2, `unlike` a
sentence of 0.25, `long` a sentence that was cut, and `slow` an answer that waits for `gate`.
"""

import asyncio
import json
import threading

import numpy as np
from serving.scripted_server import ScriptedServer
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo

from rnnsearch_tf.extras.server import json_tensors
from rnnsearch_tf.extras.server.frames import Kind

TEXT = ("text",)
FULL = {
    "translate": TEXT,
    "serving_default": TEXT,
    "translate_aligned": TEXT,
    "translate_nbest": TEXT,
    "confidence": ("source", "target"),
}
MODELS = {
    "plain": FULL,
    "pieces": FULL,
    "bare": {"translate": TEXT},
    "blind": {"translate_aligned": TEXT},
    "numbers": {"half": TEXT},
}
SMALLEST = float(np.finfo(np.float32).min)


def translation(text):
    return " ".join(text.upper().split()[::-1])


def weights(count):
    """[count + 1, count + 1]: the attention of words, the ends last; the last row is the end's."""
    rows = []
    for i in range(count):
        others = [0.09] + [0.03 / (count - 2)] * (count - 2) if count > 2 else [0.09]
        rows.append([0.8 if j == count - 1 - i else others.pop(0) for j in range(count)] + [0.08])
    return [*rows, [0.0] * count + [1.0]]


def confidence(word):
    return 0.2 if word == "DOUBTFUL" else 0.9


class ScriptedCore:
    """What the models answer; `refusal` is a ServingError that every prediction is answered with,
    or None. `answer` is a ScriptedServer's.
    """

    def __init__(self):
        self.refusal = None
        self.gate = threading.Event()
        self.gate.set()

    def serve(self, port=-1):
        """A ScriptedServer of the models, started."""
        server = ScriptedServer(self.answer, MODELS, rest_api_port=port, port=0)
        server.start()
        return server

    async def answer(self, name, kind, data, seconds):
        if kind == Kind.REST_METADATA:
            signatures = {signature: {} for signature in MODELS[name]}
            metadata = {"signature_def": {"signature_def": signatures}}
            return json.dumps({"model_spec": {"name": name}, "metadata": metadata}).encode()
        if self.refusal:
            raise self.refusal
        document = json_tensors.parse(data)
        signature = document["signature_name"]
        strings = {
            input: TensorInfo(dtype=types_pb2.DT_STRING) for input in MODELS[name][signature]
        }
        inputs, form = json_tensors.to_inputs(document, strings)
        while b"slow" in inputs.get("text", [b""])[0] and not self.gate.is_set():
            await asyncio.sleep(0.01)
        return json_tensors.to_body(_outputs(self._row(name, signature, inputs)), form)

    def _row(self, name, signature, inputs):
        if signature == "confidence":
            [target] = inputs["target"]
            return _confidence(target.decode())
        [text] = inputs["text"]
        return getattr(self, f"_{signature}")(name, text.decode())

    def _translate(self, model, text):
        return {
            "translation": translation(text),
            "score": np.float32(-0.25),
            "source_truncated": np.bool_("long" in text),
        }

    def _translate_aligned(self, model, text):
        source = text.split()
        target = translation(text).split()
        matrix = np.array(weights(len(source)))
        if model == "pieces":
            source, of_source = _pieces(source)
            target, of_target = _pieces(target)
            # a word's pieces share its weight
            matrix = matrix[of_target][:, of_source] / np.bincount(of_source)[of_source]
        rows = (np.zeros_like(matrix) if model == "blind" else matrix).round(4).tolist()
        return self._translate(model, text) | {
            "source_tokens": " ".join(source),
            "target_tokens": " ".join(target),
            "alignment": json.dumps(rows),
        }

    def _translate_nbest(self, model, text):
        best = translation(text)
        return {
            "translation": [best, f"{best} INDEED", ""],
            "score": np.float32([-0.25, -0.5, SMALLEST]),
            "log_probability": np.log([0.63, 0.025, 1e-30]).astype(np.float32),
            "length": np.int32([3, 4, 0]),
        }


def _pieces(words):
    """(pieces of two characters, for each and for the end the number of its word)."""
    pieces = [
        ("▁" + word[k : k + 2] if k == 0 else word[k : k + 2], number)
        for number, word in enumerate(words)
        for k in range(0, len(word), 2)
    ]
    return [piece for piece, _ in pieces], [number for _, number in pieces] + [len(words)]


def _confidence(target):
    words = target.split()
    return {
        "confidence": np.float32(0.25 if "UNLIKE" in words else 0.75),
        "words": " ".join(words),
        "word_confidences": json.dumps([confidence(word) for word in words]),
    }


def _outputs(row):
    """Arrays of one row."""
    return {
        name: (
            np.array(
                [[text.encode() for text in value] if isinstance(value, list) else value.encode()],
                object,
            )
            if isinstance(value, (str, list))
            else np.array([value])
        )
        for name, value in row.items()
    }
