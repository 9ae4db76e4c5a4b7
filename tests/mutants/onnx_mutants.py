"""Faults in the export to ONNX and in the history of tensors."""

from mutants import Mutant

SYSTEM = ("export/test_graph_searches.py::test_a_model_with_attention[onnx]",)
WEIGHTS = ("export/test_onnx.py::test_int8_products_are_near_those_of_float64",)

ONNX = [
    Mutant(
        "extras/onnx/writer.py",
        "the settings have another name in the file",
        "entry.key = KEY",
        'entry.key = "settings"',
        ("export/test_onnx.py::test_the_file_has_the_text_settings",),
    ),
    Mutant(
        "extras/onnx/writer.py",
        "int8 is float32",
        "store_weights(model, export.options.weights)",
        'store_weights(model, "float32")',
        ("export/test_onnx.py::test_weights_are_stored_as_the_profile_says",),
    ),
    Mutant(
        "extras/onnx/loops.py",
        "a weight that is transposed in two orders is so in one",
        """name = f"{node.input[0]}.transposed.{'.'.join(map(str, order))}\"""",
        'name = f"{node.input[0]}.transposed"',
        ("export/test_onnx.py::test_equal_weights_that_are_transposed_in_two_orders",),
    ),
    Mutant(
        "extras/onnx/loops.py",
        "constants of equal bytes and another shape are one",
        "first.setdefault((array.dtype, array.shape, array.tobytes()), name)",
        "first.setdefault((array.dtype, array.tobytes()), name)",
        SYSTEM,
    ),
    Mutant(
        "extras/onnx/weights.py",
        "a product that is also read without its bias has it",
        "if add is not None and uses[node.output[0]] == 1:",
        "if add is not None:",
        ("export/test_onnx.py::test_a_product_that_is_read_twice_keeps_its_bias_apart",),
    ),
    Mutant(
        "search/tensor_history.py",
        "a step of dropped sentences is written to other rows",
        "values = tf.scatter_nd(rows[:, tf.newaxis], values, shape)",
        "values = tf.scatter_nd(tf.range(tf.size(rows))[:, tf.newaxis], values, shape)",
        SYSTEM,
    ),
    Mutant(
        "search/tensor_history.py",
        "the words are read after the back pointer",
        "places = tf.where(inside & ~ends, select(all_parents), places)",
        "places = tf.where(inside, select(all_parents), places)",
        SYSTEM,
    ),
    Mutant(
        "search/tensor_history.py",
        "the attention is that of another hypothesis",
        "tf.where(inside, places, 0), batch_dims=1)",
        "tf.zeros_like(places), batch_dims=1)",
        SYSTEM,
    ),
    Mutant(
        "extras/onnx/graph.py",
        "the outputs are named in another order",
        "zip([value.name for value in proto.graph.output], OUTPUTS)",
        "zip([value.name for value in proto.graph.output], OUTPUTS[::-1])",
        SYSTEM,
    ),
    Mutant(
        "extras/onnx/graph.py",
        "the shortlist stays outside of the graph",
        "shortlist and shortlist.as_constants()",
        "shortlist",
        ("export/test_graph_searches.py::test_shortlist[onnx]",),
    ),
    Mutant(
        "extras/onnx/weights.py",
        "the bias of an eight-bit product is lost",
        '[node.input[0], values, scale, "", bias]',
        '[node.input[0], values, scale, "", ""]',
        WEIGHTS,
    ),
    Mutant(
        "extras/onnx/weights.py",
        "rows have the scales of columns",
        'quantize(array.T if by == "rows" else array)',
        "quantize(array)",
        WEIGHTS,
    ),
    Mutant(
        "extras/onnx/weights.py",
        "columns of a shortlist are looked up as rows",
        'next((each.i for each in node.attribute if each.name == "axis"), 0)',
        "0",
        WEIGHTS,
    ),
    Mutant(
        "extras/web/writer.py",
        "a page takes every SentencePiece model",
        "if _rules(model) != _rules(",
        "if False and _rules(",
        ("export/test_web_export.py::test_a_model_that_tokenizes_unlike_the_page_is_refused",),
    ),
    Mutant(
        "export/graph_export.py",
        "bfloat16 is not refused",
        'if profile.weights == "bfloat16":',
        'if profile.weights == "bfloat":',
        ("export/test_onnx.py::test_options_without_effect_are_refused",),
    ),
    Mutant(
        "export/graph_export.py",
        "a precision without effect is accepted",
        '("temperature", "precision", "warmup_requests", "maximum_target_length")',
        '("temperature", "warmup_requests", "maximum_target_length")',
        ("export/test_onnx.py::test_options_without_effect_are_refused",),
    ),
    Mutant(
        "export/graph_check.py",
        "the answers are not compared",
        "if not near:",
        "if False:",
        ("export/test_onnx.py::test_a_wrong_answer_is_not_published",),
    ),
    Mutant(
        "export/graph_export.py",
        "the vocabularies change sides",
        '"source": text_settings(translator.source_text)',
        '"source": text_settings(translator.target_text)',
        ("export/test_onnx.py::test_the_file_has_the_text_settings",),
    ),
]
