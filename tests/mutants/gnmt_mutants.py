"""Faults planted in GNMT and in its import."""

from mutants import Mutant

SYSTEMS = "equations/test_systems.py"
LOGITS = f"{SYSTEMS}::test_logits_and_losses"
STEPS = f"{SYSTEMS}::test_steps_of_a_search"
DROPPED = "equations/test_dropout_places.py::test_places"
TOGETHER = "bad_input/test_options_together.py"
SAME = "imports/test_programs.py::test_log_probabilities_and_attention"
REFUSED = "imports/test_refused_models.py"
TENSORFLOW_NMT = "extras/importing/tensorflow_nmt.py"

GNMT = [
    Mutant(
        "models/gnmt.py",
        "training: the layers above read the context of their own position",
        "contexts = tf.concat([state",
        "_ = tf.concat([state",
        (LOGITS,),
    ),
    Mutant(
        "models/gnmt.py",
        "search: the layers above always read the new context",
        'state["context"] if previous else context, upper',
        "context, upper",
        (STEPS,),
    ),
    Mutant(
        "models/gnmt.py",
        "search: the context is not carried on",
        '{"layers": (first, *upper), "context": context}',
        '{"layers": (first, *upper), "context": state["context"]}',
        (STEPS,),
    ),
    Mutant(
        "models/gnmt.py",
        "search: the states of the layers above are not carried on",
        '{"layers": (first, *upper), "context": context}',
        '{"layers": (first, *state["layers"][1:]), "context": context}',
        (STEPS,),
    ),
    Mutant(
        "models/gnmt.py",
        "attention does not see dropout",
        'self.attention.attend(state["state"] * factors, memory)',
        'self.attention.attend(state["state"], memory)',
        (DROPPED,),
    ),
    Mutant(
        "models/gnmt.py",
        "the output layer does not see dropout",
        "return self.drop_hidden(outputs, training=training), alignments",
        "return outputs, alignments",
        (DROPPED,),
    ),
    Mutant(
        "layers/gnmt_decoder.py",
        "residual layers add what was dropped",
        'self._below(k, states[-1]["state"], below)',
        'self._below(k, states[-1]["state"], dropped)',
        (DROPPED,),
    ),
    Mutant(
        "layers/gnmt_decoder.py",
        "the layers above share one dropout",
        "below * factors[..., k - 1, :]",
        "below * factors[..., 0, :]",
        (DROPPED,),
    ),
    Mutant(
        "layers/gnmt_decoder.py",
        "the context stands before the layer below",
        "tf.concat([dropped, context], axis=-1)",
        "tf.concat([context, dropped], axis=-1)",
        (LOGITS,),
    ),
    Mutant(
        "layers/gnmt_decoder.py",
        "the first layer reads no context",
        "tf.concat([words, context], axis=-1)",
        "tf.concat([words, 0 * context], axis=-1)",
        (LOGITS, STEPS),
    ),
    Mutant(
        "layers/gnmt_decoder.py",
        "residual layers begin with the second",
        'self._below(k, states[-1]["state"], below)',
        'states[-1]["state"] + (below if self.residual else 0)',
        (LOGITS,),
    ),
    Mutant(
        "layers/gnmt_encoder.py",
        "the forward state of the first layer goes to the decoder",
        "tf.split(value, 2, axis=-1)[1]",
        "tf.split(value, 2, axis=-1)[0]",
        (LOGITS,),
    ),
    Mutant(
        "layers/gnmt_encoder.py",
        "the encoder's residual layers begin one layer late",
        "max(self.first_residual - 1, 2)",
        "max(self.first_residual, 2)",
        (LOGITS,),
    ),
    Mutant(
        "layers/gnmt_encoder.py",
        "no dropout above the first layer",
        "self.drop(both, training=training)",
        "both",
        (DROPPED,),
    ),
    Mutant(
        "layers/recurrent_stack.py",
        "the sum of residual layers has all layers",
        "states[lowest:]",
        "states",
        (LOGITS,),
    ),
    Mutant(
        "layers/recurrent_stack.py",
        "residual layers of a stack begin with the second",
        "if self.residual and k + 1 >= self.first_residual",
        "if self.residual and k",
        (LOGITS,),
    ),
    Mutant(
        "models/luong.py",
        "the output layer always reads the attentional state",
        'self.config.predict_from == "state"',
        "False",
        (LOGITS, STEPS),
    ),
    Mutant(
        "config/model_options.py",
        "one bidirectional layer is taken for GNMT's encoder",
        'model.encoder_directions == "first" and encoder_layers < 2',
        "False",
        (TOGETHER,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "gnmt_v2 reads the previous context",
        'values["upper_context"] = "current"',
        "pass",
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "the directions of the encoder swapped",
        '(("forward", "fw"), ("backward", "bw"))',
        '(("forward", "bw"), ("backward", "fw"))',
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "the attentional state always predicts",
        'values["predict_from"] = "state"',
        "pass",
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "residual layers begin with the second",
        "residual=True, first_residual=first_residual",
        "residual=True",
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "other residual layers are not refused",
        '    raise UserError(\n        f"{path}: num_encoder_residual_layers',
        "    return units, encoder_layers, layers, 2\n"
        '    raise UserError(\n        f"{path}: num_encoder_residual_layers',
        (f"{REFUSED}::test_other_options_of_tensorflow_nmt",),
    ),
]
