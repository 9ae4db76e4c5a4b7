"""CTranslate2 as a worker (measuring.Worker), in an environment of its own: searches of a
Transformer with random weights.

    peer_ctranslate2.py '{"layers": 3, "width": 256, "vocabulary_size": 10000, "type": "int8",
        "threads": 1}'
"""

import json
import sys
import tempfile
import time

import measuring
import numpy as np

SPECIAL = ["<blank>", "<s>", "</s>", "<unk>"]
HEAD = 64
"""Dimensions of a head of attention."""


def specification(layers, width, vocabulary_size, **_):
    """A Transformer with random weights: inner layers of 4 × width."""
    from ctranslate2 import specs

    generator = np.random.default_rng(1)
    spec = specs.TransformerSpec.from_config(layers, max(1, width // HEAD))

    def linear(layer, rows, columns):
        layer.weight = generator.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
        layer.bias = np.zeros(rows, np.float32)

    def norm(layer):
        layer.gamma, layer.beta = np.ones(width, np.float32), np.zeros(width, np.float32)

    words = generator.normal(0, width**-0.5, (vocabulary_size, width)).astype(np.float32)
    spec.encoder.embeddings[0].weight = words
    spec.decoder.embeddings.weight = words
    linear(spec.decoder.projection, vocabulary_size, width)
    angles = np.arange(200)[:, None] / 10_000 ** (np.arange(width // 2) / (width // 2))
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = np.concatenate(
            [np.sin(angles), np.cos(angles)], axis=1
        ).astype(np.float32)
        norm(side.layer_norm)
        for layer in side.layer:
            attentions = [(layer.self_attention, (3, 1))]
            if side is spec.decoder:
                attentions.append((layer.attention, (1, 2, 1)))
            for attention, sizes in attentions:
                norm(attention.layer_norm)
                for each, size in zip(attention.linear, sizes):
                    linear(each, size * width, width)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, 4 * width, width)
            linear(layer.ffn.linear_1, width, 4 * width)
    return spec


class Peer:
    def __init__(self, options):
        import ctranslate2

        spec = specification(**options)
        size = options["vocabulary_size"]
        tokens = [*SPECIAL, *(f"w{number}" for number in range(len(SPECIAL), size))]
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)
        spec.validate()
        spec.optimize(quantization=None if options["type"] == "float32" else options["type"])
        self.folder = tempfile.TemporaryDirectory()
        spec.save(self.folder.name)
        self.translator = ctranslate2.Translator(
            self.folder.name,
            compute_type=options["type"],
            inter_threads=1,
            intra_threads=options["threads"],
        )

    def search(self, rows, length, beam):
        """Seconds of one search of rows of ids, whose outputs have `length` words."""
        tokens = [[f"w{id}" for id in row] for row in rows]
        start = time.perf_counter()
        self.translator.translate_batch(
            tokens,
            max_batch_size=0,
            beam_size=beam,
            min_decoding_length=length,
            max_decoding_length=length,
        )
        return time.perf_counter() - start


if __name__ == "__main__":
    measuring.answer_requests({"search": Peer(json.loads(sys.argv[1])).search})
