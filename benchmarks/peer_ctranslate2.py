"""CTranslate2 as a worker (measuring.Worker): searches of a Transformer in int8, with random
weights.

Started by decoding.py in an environment of its own; see peers.py.
"""

import tempfile

import numpy as np

import measuring

SPECIAL = "<blank>", "<s>", "</s>", "<unk>"
LAYERS = 3
HEAD = 64
"""Dimensions of a head of attention."""


class CTranslate2:
    """A Transformer of LAYERS layers a side.

    Args:
        size: of sizes.SIZES, as a dictionary; the layers have its hidden_size.
        threads: of a search.
    """

    def __init__(self, size, threads):
        import ctranslate2

        self.words = size["length"] - 1
        spec = transformer(size["hidden_size"], size["vocabulary_size"])
        numbers = range(3, size["vocabulary_size"] + 3 - len(SPECIAL))
        tokens = [*SPECIAL, *(f"w{number}" for number in numbers)]
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)
        spec.validate()
        spec.optimize(quantization="int8")
        self.folder = tempfile.TemporaryDirectory()
        spec.save(self.folder.name)
        self.translator = ctranslate2.Translator(
            self.folder.name, compute_type="int8", inter_threads=1, intra_threads=threads
        )

    def translate(self, lines, beam_size):
        """Translate lines of words, every output as long as a source."""
        self.translator.translate_batch(
            [line.split() for line in lines],
            max_batch_size=0,
            beam_size=beam_size,
            min_decoding_length=self.words,
            max_decoding_length=self.words,
        )


def transformer(width, vocabulary_size):
    """A TransformerSpec with random weights; inner layers have 4 · width units."""
    from ctranslate2 import specs

    generator = np.random.default_rng(1)
    spec = specs.TransformerSpec.from_config(LAYERS, max(1, width // HEAD))

    def linear(layer, rows, columns):
        layer.weight = generator.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
        layer.bias = np.zeros(rows, np.float32)

    def norm(layer):
        layer.gamma, layer.beta = np.ones(width, np.float32), np.zeros(width, np.float32)

    def attention(layer, *sizes):
        norm(layer.layer_norm)
        for each, size in zip(layer.linear, sizes):
            linear(each, size * width, width)

    words = generator.normal(0, width**-0.5, (vocabulary_size, width)).astype(np.float32)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = words
    linear(spec.decoder.projection, vocabulary_size, width)
    angles = np.arange(200)[:, None] / 10_000 ** (np.arange(width // 2) / (width // 2))
    positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    for side in spec.encoder, spec.decoder:
        side.position_encodings.encodings = positions
        norm(side.layer_norm)
        for layer in side.layer:
            attention(layer.self_attention, 3, 1)
            if side is spec.decoder:
                attention(layer.attention, 1, 2, 1)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, 4 * width, width)
            linear(layer.ffn.linear_1, width, 4 * width)
    return spec


if __name__ == "__main__":
    measuring.answer_requests(CTranslate2, __doc__)
