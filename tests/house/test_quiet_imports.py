"""Importing TensorFlow for a verb."""

import gc
import importlib
import os
import subprocess
import sys

import pytest

from rnnsearch_tf.runtime.tensorflow import GC_THRESHOLDS, _rare_garbage_collection, _without


def test_garbage_is_searched_for_as_often_as_ever_once_all_is_imported():
    """Else a training of short epochs grows by what each of them leaves in circles."""
    before = gc.get_threshold()
    frozen = gc.get_freeze_count()
    try:
        with _rare_garbage_collection():
            assert gc.get_threshold() == GC_THRESHOLDS
        assert gc.get_threshold() == before and gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()


def test_a_hidden_package_is_there_again_afterwards(tmp_path, monkeypatch):
    for name in ("loaded_before", "loaded_after"):
        (tmp_path / f"{name}.py").write_text("")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    before = importlib.import_module("loaded_before")
    with _without(("loaded_before", "loaded_after", "never_there")):
        assert importlib.import_module("loaded_before") is before
        with pytest.raises(ImportError):
            importlib.import_module("loaded_after")
    assert (
        importlib.import_module("loaded_after").__name__ == "loaded_after"
        and "never_there" not in sys.modules
    )


def test_what_no_command_uses_is_not_loaded():
    """Keras would import them; what is drawn later still can."""
    program = (
        "import sys; from rnnsearch_tf.runtime.tensorflow import OPTIONAL, import_tensorflow;"
        " import_tensorflow(); import tensorflow\nprint([name for name in OPTIONAL if name in"
        " sys.modules]); import matplotlib.pyplot; assert tensorflow.keras.layers.Dense(1).units"
        " == 1"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_what_an_import_says_is_shown_where_it_fails(tmp_path):
    """By a stand-in for TensorFlow that writes to the file descriptor, as its C++ does."""
    (tmp_path / "tensorflow.py").write_text(
        'import os\nos.write(2, b"a remark of the machine\\n")\n'
    )
    shown = {}
    for debug in ("", "1"):
        for text in ("good", "bad"):
            (tmp_path / "tensorflow_text.py").write_text(
                "" if text == "good" else 'raise ImportError("broken")\n'
            )
            program = (
                f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
                " sys.modules['rnnsearch_tf.runtime.backend'] = sys\nfrom"
                " rnnsearch_tf.runtime.tensorflow import import_tensorflow; import_tensorflow()"
            )
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=os.environ | {"RNNSEARCH_DEBUG": debug},
                capture_output=True,
                text=True,
            )
            shown[debug, text] = done.returncode, "a remark of the machine" in done.stderr
    assert shown == {
        ("", "good"): (0, False),
        ("", "bad"): (1, True),
        ("1", "good"): (0, True),
        ("1", "bad"): (0, True),
    }
