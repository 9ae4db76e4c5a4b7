"""How much code a line of text meets on its way to its translation: the files, and the lines of the functions that run."""

import ast
import collections
import pathlib
import sys
import threading

import tensorflow as tf
from tiny_run import write_run

import rnnsearch_tf
from rnnsearch_tf.translation import Translator

PACKAGE = pathlib.Path(rnnsearch_tf.__file__).parent
MOST_FILES, MOST_LINES = 18, 675  # as it is today; it only goes down


def functions_run(work):
    """{file of the package: first lines of its functions that ran}, in this thread and those it starts."""
    met = collections.defaultdict(set)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{PACKAGE}/"):
            met[pathlib.Path(code.co_filename)].add(code.co_firstlineno)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return met


def lines_of_code(path, first_lines):
    """Lines of the functions that begin there, without docstrings, comments and blanks."""
    text = path.read_text(encoding="utf-8")
    lines, counted, docstrings = text.split("\n"), set(), set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        if first in first_lines or node.lineno in first_lines:
            counted |= set(range(first, node.end_lineno + 1))
    return sum(bool(lines[k - 1].strip()) and not lines[k - 1].strip().startswith("#") for k in counted - docstrings)


def test_a_sentence_is_translated_by_few_files(tmp_path):
    translator = Translator.load(write_run(tmp_path / "run"))
    tf.config.run_functions_eagerly(True)  # AutoGraph would run copies of the functions, from files of its own
    try:
        met = functions_run(lambda: translator.translate(["The door is white."]))
    finally:
        tf.config.run_functions_eagerly(False)
    counts = {path.relative_to(PACKAGE).as_posix(): lines_of_code(path, first_lines) for path, first_lines in met.items()}
    table = "\n".join(f"{count:4} {name}" for name, count in sorted(counts.items()))
    assert {"text/moses.py", "translation/translator.py", "search/beam.py", "models/rnnsearch.py"} <= counts.keys()
    readme = (PACKAGE.parent / "README.md").read_text(encoding="utf-8").split("## Follow one sentence")[1]
    assert not [name for name in counts if f"`{name}`" not in readme]
    assert len(counts) <= MOST_FILES and sum(counts.values()) <= MOST_LINES, table
