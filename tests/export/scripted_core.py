"""What stands behind the attention page in its tests: models whose answers can be told beforehand.

A sentence is translated by turning the order of its words round and writing them in capitals; word
i looks at the word that it came from with weight 0.8, at the end of the sentence with 0.08, at the
first of the others with 0.09, and at the rest with what is left. The models:

    plain     tokens are words
    pieces    tokens are SentencePiece's, two characters each
    bare      nothing but translate
    blind     no attention: all weights are 0
    numbers   no translation model

Words of a sentence may ask for more: `doubtful` gives a word of confidence 0.2, `long` a sentence
that was cut, and `slow` an answer that waits for `gate`.
"""

import json

import grpc
import numpy as np
from serving.fake_core import FakeCore, signature
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import get_model_metadata_pb2

from rnnsearch_tf.extras.server.errors import ServingError, not_found

TEXT = signature(text=types_pb2.DT_STRING)
FULL = {
    "translate": TEXT,
    "serving_default": TEXT,
    "translate_aligned": TEXT,
    "translate_nbest": TEXT,
    "confidence": signature(source=types_pb2.DT_STRING, target=types_pb2.DT_STRING),
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


class ScriptedCore(FakeCore):
    """A Core for RestServer; `refusal` is a ServingError that every prediction is answered with, or
    None.
    """

    refusal = None

    def models(self):
        return {name: [2, 1] if name == "plain" else [1] for name in MODELS}

    def find(self, spec):
        if spec.name not in MODELS:
            raise not_found(f"Servable not found for request: Latest({spec.name})")

    def signature(self, spec):
        self.find(spec)
        if spec.signature_name not in MODELS[spec.name]:
            raise ServingError(grpc.StatusCode.FAILED_PRECONDITION, "no such signature")
        return MODELS[spec.name][spec.signature_name]

    def metadata(self, request):
        self.find(request.model_spec)
        answer = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=request.model_spec)
        answer.metadata["signature_def"].Pack(
            get_model_metadata_pb2.SignatureDefMap(signature_def=MODELS[request.model_spec.name])
        )
        return answer

    def predict(self, spec, inputs, output_filter=(), deadline=None, cancelled=None):
        if self.refusal:
            raise self.refusal
        if spec.signature_name == "confidence":
            [target] = inputs["target"]
            return spec, _outputs(_confidence(target.decode()))
        [text] = inputs["text"]
        if b"slow" in text:
            assert self.gate.wait(30)
        return spec, _outputs(getattr(self, f"_{spec.signature_name}")(spec.name, text.decode()))

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
        "confidence": np.float32(0.75),
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
