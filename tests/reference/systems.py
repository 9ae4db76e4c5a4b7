"""The reference of each system under one roof: what the package is asked for, one sentence at a
time.
"""

import numpy as np
from reference import cslm, encoder_decoder, layered, rnnsearch, variants


def decode(weights, source_ids, target_ids, options):
    """Forced decoding of one pair: (logits (I, V), alignments (I, J)).

    Args:
        options: dictionary of every option of the model section.
    """
    system = options["system"]
    if system == "rnnsearch" and (options["unit"], options["attention"]) == ("gru", "content"):
        order = options["decoder_order"]
        return rnnsearch.decode(weights, source_ids, target_ids, order)[:2]
    if system in ("rnnsearch", "rnnencdec"):
        return variants.decode(weights, source_ids, target_ids, options)
    if system == "cslm":
        return cslm.decode(weights, source_ids, target_ids, options)
    if system == "encoder_decoder":
        return encoder_decoder.decode(weights, source_ids, target_ids)
    unit = {"unit": "lstm"} if system == "deep_lstm" else {}
    return layered.decode(weights, source_ids, target_ids, options | unit)


def log_probabilities(weights, source_ids, target_ids, options):
    """log p(· | y_<i, x) of each target position: (I, V)."""
    logits, _ = decode(weights, source_ids, target_ids, options)
    return np.array([rnnsearch.log_softmax(row) for row in logits])


def sentence_loss(weights, source_ids, target_ids, options, label_smoothing=0.0):
    """Loss of one pair, in nats, summed over its words: (1 − ε)(−log p(y)) + ε · mean over the
    vocabulary of −log p.
    """
    rows = log_probabilities(weights, source_ids, target_ids, options)
    words = [
        (1 - label_smoothing) * -row[word] + label_smoothing * -row.mean()
        for word, row in zip(target_ids, rows)
    ]
    return float(sum(words))
