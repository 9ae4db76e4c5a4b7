"""How many floating-point operations the matrix products of a training step are, counted from the
sizes.

Every product of the forward pass is a weight times as many rows as there are positions at which it
is needed, or one of attention's: α times annotations, a state times keys. The backward pass has two
products for each of them. A multiplication and its addition are two operations; what an
implementation computes a second time does not count.
"""

import math


def forward_operations(model, sentences, source_length, target_length, target_words):
    """Of one forward pass, loss included.

    Args:
        model: TranslationModel.
        sentences: B.
        source_length, target_length: J and I, padding included.
        target_words: N, the real ones: only they meet the output matrix.

    Returns:
        {"encoder": operations, "decoder": …, "output": …}; attention is the decoder's.
    """
    rows = {
        "sentence": sentences,
        "source": sentences * source_length,
        "target": sentences * target_length,
        "pair": sentences * source_length * target_length,
        "word": target_words,
    }
    parts = dict.fromkeys(("encoder", "decoder", "output"), 0)
    for weight in model.trainable_variables:
        part, kind = _where(model, weight.path.split("/"))
        if kind is not None:
            parts[part] += (
                2
                * math.prod(weight.shape)
                * (rows["source"] / 2 + rows["target"] / 2 if kind == "both" else rows[kind])
            )
    if model.config.tie_target_embeddings:
        parts["output"] += 2 * math.prod(model.target_embedding.E.shape) * rows["word"]
    parts["decoder"] += 2 * rows["pair"] * _attention_width(model)
    return {part: int(operations) for part, operations in parts.items()}


def training_operations(model, *sizes):
    """Of one update: three times those of :func:`forward_operations`, for each of its parts."""
    return {part: 3 * operations for part, operations in forward_operations(model, *sizes).items()}


def _where(model, path):
    """(part, rows that the weight is multiplied with) of a weight, by its path; rows None: none of
    a product.
    """
    name = path[-1]
    system = model.config.system
    if name in ("E", "w_c", "p") or name.startswith("b") or name.endswith("gain"):
        return None, None
    if name.startswith("W_o") or path[-2] == "output_matrix":
        return "output", "target" if name == "W_o1" else "word"
    if path[-2] == "deep_output":
        return "output", "sentence" if name == "C_o" and system == "encoder_decoder" else "target"
    if "encoder" in path[:-1]:
        return "encoder", "source"
    if "summary_matrices" in path:
        return "encoder", "sentence"
    if "attention" in path:
        return "decoder", _attention_rows(model, name)
    context_is_one = system in ("rnnencdec", "encoder_decoder")
    return "decoder", "sentence" if name == "W_s" or (name == "C" and context_is_one) else "target"


def _attention_rows(model, name):
    if name == "v_a":
        return "pair"
    if name == "U_a":
        return "source"
    # concat: one half meets the states, the other the annotations
    if model.config.system == "luong" and name == "W_a":
        return "both" if model.config.attention_score == "concat" else "source"
    return "target"


def _attention_width(model):
    """Multiplications for each pair of a source and a target position, besides those with v_a."""
    config = model.config
    if not model.has_attention:
        return 0
    if config.system == "luong":
        # context and, but for concat, energies
        return config.hidden_size * (1 if config.attention_score == "concat" else 2)
    return 2 * config.hidden_size
