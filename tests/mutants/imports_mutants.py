"""Faults planted in imported models and in what they need: the conditional GRU, deep transition,
normalization of all products, two directions, bridges.
"""

from mutants import Mutant

SYSTEMS = "equations/test_systems.py::test_logits_and_losses"
STEPS = "equations/test_systems.py::test_steps_of_a_search"
PROGRAMS = "imports/test_programs.py"
SAME = f"{PROGRAMS}::test_log_probabilities_and_attention"
WHOLE = f"{PROGRAMS}::test_whole_distributions"
SEARCH = f"{PROGRAMS}::test_beam_search_finds_the_same_translations"
COMMAND = f"{PROGRAMS}::test_a_run_of_the_command_translates_and_checks"
FILES = "imports/test_untrusted_files.py"
REFUSED = "imports/test_refused_models.py"
ARCHIVES = "imports/test_untrusted_archives.py"
WEIGHTS = "model/test_paper_weights.py"
PICKLES = "extras/importing/pickles.py"
TORCH = "extras/importing/torch_file.py"
NEMATUS = "extras/importing/nematus.py"
TENSORFLOW_NMT = "extras/importing/tensorflow_nmt.py"
NEMATUS_TENSORFLOW = "extras/importing/nematus_tensorflow.py"
MARIAN = "extras/importing/marian.py"
JOEY = "extras/importing/joeynmt.py"

LAYERS = [
    Mutant(
        "layers/conditional_decoder.py",
        "attention reads the state before the word",
        "state | self.recurrent_unit.advance(inputs, state),",
        "state,",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/conditional_decoder.py",
        "the second unit has no biases",
        "self.after_attention.constant_inputs(),",
        "0.0 * self.after_attention.constant_inputs(),",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/conditional_decoder.py",
        "one transition too few",
        "self.decoder_transitions - 1,",
        "1,",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/deep_transition.py",
        "later units read the word too",
        "inputs if unit is self.units[0] else unit.constant_inputs()",
        "inputs",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/deep_transition.py",
        "the backward direction reads forward",
        "if backward else tf.identity",
        "if False else tf.identity",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/decoder.py",
        "the first state is the sum of the annotations' halves",
        "first = mean_of_words(annotations, memory.mask)",
        "first = annotations[:, 0]",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/decoder.py",
        "the first state is not normalized",
        's_0 = tf.tanh(normalized_product(self, first, "W_s", self.b_s))',
        "s_0 = tf.tanh(self.matmul(first, self.W_s, self.b_s))",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "every gate is normalized by itself",
        "sizes = [width] if together else [n, width - n]",
        "sizes = [n] * (width // n)",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/normalization.py",
        "no shift",
        "tf.concat(parts, axis=-1) * gain + shift",
        "tf.concat(parts, axis=-1) * gain",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/output.py",
        "maxout in place of tanh",
        "else tf.tanh(hidden)",
        "else hidden",
        (SYSTEMS,),
    ),
    Mutant(
        "models/rnnsearch.py",
        "a normalized output is projected before the sum",
        "if not self._normalizes_all():  # else",
        "if True:  # else",
        (STEPS,),
    ),
    Mutant(
        "layers/bidirectional_stack.py",
        "the last state of the backward direction is that of the last word",
        "backward[name][:, 0]",
        "backward[name][:, -1]",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/bidirectional_stack.py",
        "the first layer is residual too",
        "if self.residual and k + 1 >= self.first_residual:",
        "if self.residual and (k or values.shape[-1] == self.hidden_size):",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/bridge.py",
        "the backward half comes first",
        "for half in (0, 1)",
        "for half in (1, 0)",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/bridge.py",
        "the bridge is linear",
        "first = tf.tanh(self.matmul(top, self.W_b, self.b_b))",
        "first = self.matmul(top, self.W_b, self.b_b)",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/bridge.py",
        "layers of a dense bridge share one part",
        "parts[k * len(names) :]",
        "parts",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/recurrent_stack.py",
        "the output of a residual stack is its top layer",
        'tf.add_n([state["state"] for state in states[lowest:]])',
        'states[-1]["state"]',
        (SYSTEMS,),
    ),
    Mutant(
        "layers/luong_attention.py",
        "no bias of the attentional state",
        "self.matmul(both, self.W_c, self.b_c)",
        "self.matmul(both, self.W_c)",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/embedding.py",
        "the begin symbol is zero",
        "        if self.begin_symbol:\n            return vectors\n",
        "",
        (SYSTEMS,),
    ),
    Mutant(
        "models/translation_model.py",
        "the encoder always reads the end symbol",
        "mask &= source_ids != END_ID",
        "pass",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/base.py",
        "a part of a stored weight is written to the first place",
        "blocks[self.index] = block",
        "blocks[0] = block",
        (WEIGHTS,),
    ),
    Mutant(
        "models/translation_model.py",
        "weights are set before all are checked",
        'expected = shapes.get(name, "no such weight")',
        "name in self.blocks() and self.blocks()[name].weight.assign_add("
        "self.blocks()[name].weight * 0 + 1)\n"
        '            expected = shapes.get(name, "no such weight")',
        (WEIGHTS,),
    ),
]

IMPORTING = [
    Mutant(NEMATUS, "reset and update swapped", '("_r", "_z")', '("_z", "_r")', (SAME,)),
    Mutant(
        NEMATUS,
        "early dropout is not scaled",
        ">= 0.1:\n            return 1.0",
        ">= 0.0:\n            return 1.0",
        (SAME,),
    ),
    Mutant(
        NEMATUS,
        "later dropout is scaled too",
        'self.options["model_version"] >= 0.1',
        'self.options["model_version"] >= 9',
        (SAME,),
    ),
    Mutant(
        NEMATUS,
        "the dropout of dl4mt is not scaled",
        "0.5 if dl4mt else",
        "0.0 if dl4mt else",
        (f"{REFUSED}::test_dropout_of_dl4mt",),
    ),
    Mutant(
        NEMATUS,
        "early dropout of tied embeddings is not scaled",
        "if tied and output != 1.0:",
        "if False:",
        (f"{REFUSED}::test_early_dropout_of_tied_embeddings",),
    ),
    Mutant(
        "extras/importing/opennmt_tf.py",
        "only names of classes name a model of the catalogue",
        "node.value if isinstance(node, ast.Constant) else _name(node)",
        "_name(node)",
        (f"{REFUSED}::test_the_catalogue_of_opennmt_tf",),
    ),
    Mutant(
        PICKLES,
        "a few bytes copy a dictionary",
        "            each.clear()\n",
        "            pass\n",
        (
            f"{FILES}::test_no_copies_of_an_ordered_dictionary",
            f"{ARCHIVES}::test_no_copies_of_a_dictionary_of_pytorch",
        ),
    ),
    Mutant(
        NEMATUS,
        "a bias of the second unit outside of the normalization",
        'gates = "b_U" if self.options["layer_normalisation"] else "b"',
        'gates = "b"',
        (SAME,),
    ),
    Mutant(
        NEMATUS,
        "the encoder's later transitions have biases in TensorFlow too",
        'of_theano = "embedding_size" not in given',
        "of_theano = True",
        (SAME,),
    ),
    Mutant(
        NEMATUS,
        "the encoder's later transitions have no biases in Theano either",
        'of_theano = "embedding_size" not in given',
        "of_theano = False",
        (SAME,),
    ),
    Mutant(
        NEMATUS,
        "the unknown word is always 1",
        '2 if ids.get("<UNK>") == 2 else 1',
        "1",
        (SEARCH,),
    ),
    Mutant(
        NEMATUS,
        "names of options of version 0.3 are not known",
        '("rnn_layer_normalization", "use_layer_norm")',
        '("rnn_layer_normalization",)',
        (f"{REFUSED}::test_options_of_version_0_3_have_other_names",),
    ),
    Mutant(
        NEMATUS,
        "options of the TensorFlow versions are not refused",
        '    "model_type": (("rnn",), "a Transformer"),\n'
        '    "rnn_enc_depth": ((1,), "layers with residual connections above the encoder"),\n',
        "",
        (f"{REFUSED}::test_what_no_system_computes_of_the_tensorflow_versions",),
    ),
    Mutant(
        NEMATUS_TENSORFLOW,
        "the weights in place of their averages",
        '"_smooth" * is_smoothed(options)',
        '""',
        (SAME,),
    ),
    Mutant(
        NEMATUS_TENSORFLOW,
        "the directions of the encoder swapped",
        '"encoder": "encoder/forward-stack/level0/gru",\n'
        '    "encoder_r": "encoder/backward-stack/level0/gru",',
        '"encoder_r": "encoder/forward-stack/level0/gru",\n'
        '    "encoder": "encoder/backward-stack/level0/gru",',
        (SAME,),
    ),
    Mutant(
        NEMATUS_TENSORFLOW,
        "names of before deep transition are not known",
        'name.startswith("encoder/forwardEncoder/")',
        "False",
        (SAME,),
    ),
    Mutant(
        "extras/importing/tensorflow_file.py",
        "the bytes of a checkpoint are not counted",
        "if needed > given:",
        "if False:",
        (f"{ARCHIVES}::test_a_checkpoint_whose_arrays_are_larger_than_its_data",),
    ),
    Mutant(
        NEMATUS_TENSORFLOW,
        "gain and shift swapped",
        '"ln_b": "new_mean", "ln_s": "new_std"',
        '"ln_b": "new_std", "ln_s": "new_mean"',
        (SAME,),
    ),
    Mutant(
        "extras/importing/vocabularies.py",
        "the padding can be predicted",
        "return self.rows(vector, NEVER)",
        "return self.rows(vector, 0.0)",
        (WHOLE,),
    ),
    Mutant(
        "extras/importing/vocabularies.py",
        "a word that is no token is left out",
        'token = f"<entry-{number}>"',
        "continue",
        (f"{FILES}::test_words_that_are_no_tokens_keep_their_rows",),
    ),
    Mutant(
        "extras/importing/foreign.py",
        "options without a value are refused",
        "if value is not None and value not in values:",
        "if name in options and value not in values:",
        (SAME,),
    ),
    Mutant(
        "extras/importing/foreign.py",
        "no option is refused",
        "if value is not None and value not in values:",
        "if False:",
        (f"{REFUSED}::test_what_no_system_computes_is_refused_by_its_option",),
    ),
    Mutant(
        "extras/importing/arrays.py",
        "shapes are not compared",
        "if not fits:",
        "if False:",
        (f"{REFUSED}::test_what_no_system_computes_is_refused_by_its_option",),
    ),
    Mutant(
        JOEY,
        "context and query swapped",
        "np.concatenate([W[:, n:].T, W[:, :n].T])",
        "np.concatenate([W[:, :n].T, W[:, n:].T]) if h == n else W.T",
        (SAME,),
    ),
    Mutant(
        JOEY,
        "one bias of the recurrent layers",
        "both = gate_part(number, len(gates), np.add)",
        "both = gate_part(number, len(gates), lambda b, b_U: b)",
        (SAME,),
    ),
    Mutant(
        "extras/importing/vocabularies.py",
        "no begin symbol",
        "    rows[0] = begin\n",
        "",
        (SAME,),
    ),
    Mutant(
        "extras/importing/check.py",
        "every difference is small enough",
        "bool(differences[worst] <= NEAR)",
        "True",
        (COMMAND,),
    ),
    Mutant(
        PICKLES,
        "every instruction is allowed",
        "if name not in allowed and (name, argument) != ORDERED_DICT:",
        "if False:",
        (f"{FILES}::test_a_pickle_runs_nothing",),
    ),
    Mutant(
        PICKLES,
        "any number of instructions",
        "number >= MOST_INSTRUCTIONS or",
        "",
        (f"{FILES}::test_a_pickle_of_many_values",),
    ),
    Mutant(
        TORCH,
        "attributes replace the methods of a dictionary",
        "            return OrderedDict\n",
        "            return __import__('collections').OrderedDict\n",
        (f"{ARCHIVES}::test_attributes_of_objects_of_pytorch_are_ignored",),
    ),
    Mutant(
        "extras/importing/opennmt_tf.py",
        "cells always have a wrapper",
        'if f"{folder}/layer/kernel" in weights.arrays:',
        "if True:",
        (f"{REFUSED}::test_a_model_of_opennmt_tf_without_dropout",),
    ),
    Mutant(
        "extras/importing/check.py",
        "lines to compare may have different forms",
        "if sources and len(values) != bool(scores):",
        "if False:",
        (f"{PROGRAMS}::test_lines_to_compare_have_one_form",),
    ),
    Mutant(
        PICKLES,
        "any number of values",
        "if place > MOST_MEMO:",
        "if False:",
        (f"{FILES}::test_a_pickle_that_reserves_memory",),
    ),
    Mutant(
        TORCH,
        "objects are what they say",
        'return DTYPES.get(name, _Ignored) if module == "torch" else _Ignored',
        'return DTYPES.get(name, _Ignored) if module == "torch" else super().find_class('
        "module, name)",
        (f"{FILES}::test_a_checkpoint_runs_nothing",),
    ),
    Mutant(
        TORCH,
        "a tensor may be larger than its storage",
        "if math.prod(shape) > count or 0 not in shape and last >= count:",
        "if False:",
        (f"{FILES}::test_a_tensor_beyond_its_storage",),
    ),
    Mutant(
        "extras/importing/npz.py",
        "arrays may be larger than their bytes",
        "if math.prod(shape) * dtype.itemsize > entry.file_size:",
        "if False:",
        (f"{ARCHIVES}::test_an_array_of_an_npz_file_that_is_larger_than_its_bytes",),
    ),
    Mutant(
        "extras/importing/npz.py",
        "arrays of objects are read",
        'if dtype.kind in "fiu":',
        "if True:",
        (f"{FILES}::test_arrays_of_objects_are_not_read",),
    ),
]

OF_MARIAN = [
    Mutant(
        "layers/recurrent_unit.py",
        "together: the candidate is normalized by itself",
        ' or self.normalized == "together"',
        "",
        (SYSTEMS,),
    ),
    Mutant(
        "layers/normalization.py",
        "together: the epsilon of Nematus in Marian's form",
        '"together": 1e-9',
        '"together": EPSILON',
        (SAME,),
    ),
    Mutant(
        "layers/decoder.py",
        "together: attention takes the epsilon of Nematus, not Marian's",
        '"normalized": self.normalized}',
        '"normalized": "all"}',
        (SAME,),
    ),
    Mutant(
        MARIAN,
        "gains of input and state swapped",
        "{'WU'.index(letter) + 1}",
        "{2 - 'WU'.index(letter)}",
        (SAME,),
    ),
    Mutant(
        MARIAN,
        "biases inside of the normalization",
        'self.weights[f"{product}{gate}_shift"] = self.weights.pop(f"{bias}{gate}")',
        "pass",
        (SAME,),
    ),
    Mutant(MARIAN, "reset and update swapped", '("_r", "_z", "")', '("_z", "_r", "")', (SAME,)),
    Mutant(
        MARIAN,
        "the output matrix is not transposed",
        "lambda W: change(W.T)",
        "lambda W: change(W.reshape(shape))",
        (SAME,),
    ),
    Mutant(
        MARIAN,
        "deep transition reads the first cell again",
        "number = 1 + int(transition or 0)",
        "number = 1",
        (SAME,),
    ),
    Mutant(
        "extras/importing/npz.py",
        "options of Marian of any size",
        "if self.shapes[name][0] > most:",
        "if False:",
        (f"{REFUSED}::test_options_in_an_array_of_marian",),
    ),
    Mutant(
        "extras/importing/vocabularies.py",
        "a vocabulary of Marian may have sections and aliases",
        "elif not isinstance(event, _FLAT) or dictionaries > 1:",
        "elif False:",
        (f"{FILES}::test_damaged_words_in_yaml",),
    ),
    Mutant(
        "extras/importing/vocabularies.py",
        "special symbols beyond the model of Marian",
        "0 <= number < size for number in (end_id, unknown_id)",
        "True for number in (end_id, unknown_id)",
        (f"{FILES}::test_special_symbols_beyond_the_model",),
    ),
]

OTHERS = [
    Mutant(
        "extras/importing/groundhog.py",
        "update and reset gate swapped",
        '("_z", "G", "update"), ("_r", "R", "reset")',
        '("_r", "G", "update"), ("_z", "R", "reset")',
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "the update gate keeps its sign",
        "1, 2, factor=-1.0)",
        "1, 2, factor=1.0)",
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT,
        "no forget bias",
        'self.forget_bias if gate == "_forget" else 0.0',
        "0.0",
        (SAME,),
    ),
    Mutant(
        TENSORFLOW_NMT, "no scale of the score", "lambda K, g: g * K.T", "lambda K, g: K.T", (SAME,)
    ),
    Mutant(TENSORFLOW_NMT, "no norm of v_a", "g * v / np.linalg.norm(v)", "g * v", (SAME,)),
    Mutant(
        TENSORFLOW_NMT,
        "early options have no layers",
        'given.setdefault(f"num_{side}_{kind}", given[f"num_{kind}"])',
        "pass",
        (f"{REFUSED}::test_options_of_the_first_versions_of_tensorflow_nmt",),
    ),
    Mutant(
        "extras/importing/opennmt_tf.py",
        "forget and input gate swapped",
        '"lstm": ("_input", "_forget", "", "_output")',
        '"lstm": ("_forget", "_input", "", "_output")',
        (SAME,),
    ),
    Mutant(
        "extras/importing/importer.py",
        "the folder is looked at last",
        "    check_new_folder(output)\n",
        "",
        (f"{FILES}::test_a_folder_with_files_is_refused_before_any_is_read",),
    ),
    Mutant(
        "extras/importing/foreign.py",
        "a whole number is no number",
        "if kind is float and isinstance(value, int)",
        "if False and isinstance(value, int)",
        (f"{REFUSED}::test_options_of_the_first_versions_of_tensorflow_nmt",),
    ),
]
