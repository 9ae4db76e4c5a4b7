"""Compare this tree with another: the same losses, gradients, lists and translations.

    PYTHONPATH=OTHER python tests/equality.py write other.npz [SOURCE TARGET]
    PYTHONPATH=.     python tests/equality.py write this.npz  [SOURCE TARGET]
    python tests/equality.py compare other.npz this.npz

`write` computes, with the rnnsearch_tf that Python finds, for a tiny float64 model of every system
the loss of each word, the gradient of each weight by its letter, and 5-best lists; with SOURCE and
TARGET (text files, plain or gzip), the translations and scores of their first 500 lines by the
shipped model. `compare` prints what differs. It serves a rewrite and leaves the tree with it.
"""

import dataclasses
import gzip
import sys
import zlib

import numpy as np

ATTENTION = dict(alignment_size=5)
MAXOUT = dict(maxout_size=3, output_rank=None)
SYSTEMS = {
    "rnnsearch": dict(**ATTENTION, **MAXOUT),
    "rnnsearch-paper": dict(**ATTENTION, maxout_size=3, output_rank=2, decoder_order="paper"),
    "rnnsearch-update": dict(
        **ATTENTION, **MAXOUT, decoder_order="look_update_generate", biases="none"
    ),
    "rnnsearch-lstm": dict(**ATTENTION, maxout_size=3, output_rank=2, unit="lstm"),
    "rnnsearch-windows": dict(**MAXOUT, attention="gaussian_window", windows=2),
    "rnnsearch-tied": dict(
        **ATTENTION, **MAXOUT, tie_target_embeddings=True, scale_embeddings=True
    ),
    "rnnencdec": dict(system="rnnencdec", **MAXOUT),
    "encoder_decoder": dict(system="encoder_decoder", maxout_size=3, output_rank=2),
    "deep_lstm": dict(system="deep_lstm", layers=3, reverse_source=True, peepholes=True),
    "stacked": dict(system="stacked", layers=3, unit="lstm"),
    "stacked-gru": dict(system="stacked", layers=2),
    "luong-dot": dict(system="luong", attention_score="dot", layers=2, unit="lstm"),
    "luong-general": dict(system="luong", input_feeding=True),
    "luong-concat": dict(
        system="luong",
        attention_score="concat",
        **ATTENTION,
        input_feeding=True,
        layers=2,
        unit="lstm",
    ),
    "cslm": dict(system="cslm", ngram_order=3, second_hidden_size=5, scale_embeddings=True),
}
SOURCES = [[3, 7, 2, 4, 1], [6, 1], [5, 3, 6, 1], [7, 4, 1]]
TARGETS = [[5, 3, 1], [4, 4, 2, 6, 3, 1], [1], [6, 2, 5, 1]]


def padded(rows):
    length = max(map(len, rows))
    return np.array([row + [0] * (length - len(row)) for row in rows], np.int32)


def drawn(letter, shape):
    return np.random.default_rng(zlib.crc32(letter.encode())).normal(scale=0.6, size=shape)


def tiny_model(options):
    from rnnsearch_tf.config import Config, ModelConfig
    from rnnsearch_tf.models import build_model

    config = Config(model=ModelConfig(embedding_size=3, hidden_size=4, **options))
    training = dataclasses.replace(config.training, precision="float64", seed=0)
    model = build_model(dataclasses.replace(config, training=training), 8, 7)
    if model.config.tie_target_embeddings:  # its letters share a variable
        return model
    weights = model.paper_weights()
    model.assign_paper_weights({name: drawn(name, w.shape) for name, w in weights.items()})
    return model


def of_system(options):
    """{what: array} of one tiny model."""
    import tensorflow as tf
    from rnnsearch_tf.config import SearchConfig
    from rnnsearch_tf.search.beam import beam_search

    model = tiny_model(options)
    source, target = tf.constant(padded(SOURCES)), tf.constant(padded(TARGETS))
    with tf.GradientTape() as tape:
        losses, _ = model.token_losses({"source_ids": source, "target_ids": target})
        total = tf.reduce_sum(losses)
    variables = model.trainable_variables
    gradients = tape.gradient(total, [variable.value for variable in variables])
    results = {"losses": losses.numpy()}
    if "cslm" not in options.get("system", ""):
        config = SearchConfig(beam_size=5, length_penalty=0.6)
        found = beam_search(model, source, config, alignments=True)
        results |= {f"list of {name}": np.array(value) for name, value in found._asdict().items()}
    for variable, gradient in zip(variables, gradients):
        variable.assign(tf.convert_to_tensor(gradient))
    if not options.get("tie_target_embeddings") and not options.get("scale_embeddings"):
        results |= {f"gradient of {name}": value for name, value in model.paper_weights().items()}
    return results


def lines_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [next(file).rstrip("\n") for _ in range(500)]


def write(path, *texts):
    results = {}
    for name, options in SYSTEMS.items():
        print(name, flush=True)
        results |= {f"{name}/{key}": value for key, value in of_system(options).items()}
    if texts:
        from rnnsearch_tf.translation import Translator

        sources, targets = map(lines_of, texts)
        translator = Translator.load("tatoeba-en-fr")
        translations = translator.translate(sources)
        results["shipped/translations"] = np.array([each.text for each in translations])
        results["shipped/scores"] = np.array([each.score for each in translations])
        scored = translator.score(sources, targets)
        results["shipped/forced"] = np.array(scored)
    np.savez(path, **results)


def compare(one, other):
    one, other = np.load(one), np.load(other)
    different = 0
    for name in sorted(set(one) | set(other)):
        if name not in one or name not in other:
            print(f"{name}: only in {'the first' if name in one else 'the second'}")
        elif one[name].shape != other[name].shape or not np.array_equal(one[name], other[name]):
            if one[name].shape != other[name].shape:
                how = f"shapes {one[name].shape} and {other[name].shape}"
            elif one[name].dtype.kind == "U":
                how = f"{np.sum(one[name] != other[name])} of {len(one[name])} lines"
            else:
                how = f"by at most {np.max(np.abs(one[name] - other[name])):.3g}"
            print(f"{name}: {how}")
        else:
            continue
        different += 1
    print(f"{different} of {len(set(one) | set(other))} differ")
    return bool(different)


if __name__ == "__main__":
    sys.exit({"write": write, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
