"""Faults in the export for LiteRT, and in the search whose sizes are static."""

from mutants import Mutant

SYSTEM = ("export/test_graph_searches.py::test_a_model_with_attention[litert]",)
VERSION = ("export/test_litert.py::test_a_run_becomes_a_version",)

LITERT = [
    Mutant(
        "extras/litert/graph.py",
        "float16 is int8",
        'if weights == "float16":',
        'if weights == "half":',
        ("export/test_litert.py::test_each_kind_of_weights_has_its_size",),
    ),
    Mutant(
        "extras/litert/graph.py",
        "several sentences at once",
        "tf.TensorSpec([1, None]",
        "tf.TensorSpec([2, None]",
        SYSTEM,
    ),
    Mutant(
        "extras/litert/writer.py",
        "the weights of the profile have no effect",
        "weights = export.options.weights",
        'weights = "float32"',
        ("export/test_litert.py::test_the_graph_has_the_weights_and_the_shortlist_of_the_profile",),
    ),
    Mutant(
        "extras/litert/writer.py",
        "the search has no shortlist",
        "shortlist = export.translator.shortlist(export.search)",
        "shortlist = None",
        ("export/test_litert.py::test_the_graph_has_the_weights_and_the_shortlist_of_the_profile",),
    ),
    Mutant(
        "extras/litert/writer.py",
        "several sentences are checked at once",
        '    "rnnsearch_tf.extras.litert.answers",\n    1,',
        '    "rnnsearch_tf.extras.litert.answers",\n    8,',
        ("export/test_litert.py::test_a_wrong_answer_is_not_published",),
    ),
    Mutant(
        "extras/litert/graph.py",
        "sentences that are done are dropped",
        "drop_done=False,",
        "drop_done=True,",
        SYSTEM,
    ),
    Mutant(
        "extras/litert/graph.py",
        "the shortlist is left out",
        "shortlist and shortlist.as_constants()",
        "None",
        ("export/test_graph_searches.py::test_shortlist[litert]",),
    ),
    Mutant(
        "extras/litert/graph.py",
        "int8 is float32",
        'if weights != "float32":',
        'if weights == "float16":',
        ("export/test_litert.py::test_small_weights_are_near",),
    ),
    Mutant(
        "extras/litert/graph.py",
        "the length is fixed",
        "tf.TensorSpec([1, None]",
        "tf.TensorSpec([1, 6]",
        SYSTEM,
    ),
    Mutant(
        "search/beam.py",
        "the search stops at the first sentence that is done",
        "lambda beam: tf.reduce_any(~beam.done),",
        "lambda beam: tf.reduce_all(~beam.done),",
        ("search/test_beam.py::test_a_batch_from_which_no_sentence_is_dropped",),
    ),
    Mutant(
        "search/hypotheses.py",
        "the whole part of a ratio is lost",
        "lengths * whole + lengths * part",
        "lengths + lengths * part",
        ("search/test_limits.py::test_limits_are_the_fractions_that_were_written",),
    ),
    Mutant(
        "extras/litert/writer.py",
        "the settings are not written",
        "path.with_name(SETTINGS).write_text(settings",
        "path.with_name('other.json').write_text(settings",
        VERSION,
    ),
    Mutant(
        "runs/folder.py",
        "an export for LiteRT is not told from a damaged RUN",
        "for name in (ONNX_FILE, LITERT_FILE):",
        "for name in (ONNX_FILE,):",
        VERSION,
    ),
]
