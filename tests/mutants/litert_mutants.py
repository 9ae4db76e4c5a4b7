"""Faults in the export for LiteRT, and in the search whose sizes are static."""

from mutants import Mutant

SYSTEM = ("export/test_graph_searches.py::test_a_model_with_attention[litert]",)
VERSION = ("export/test_litert.py::test_a_run_becomes_a_version",)

LITERT = [
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
        "(folder / SETTINGS).write_text(settings",
        "(folder / 'other.json').write_text(settings",
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
