"""How much code is read on the two ways: from text to its translation, from a batch to its loss.

Counted are the files, and the tokens of the functions that run: names, operators and literals,
without docstrings, comments and type annotations. Lines would reward packing.
"""

import ast
import collections
import io
import pathlib
import sys
import threading
import tokenize

import tensorflow as tf
from tiny_run import write_run

import rnnsearch_tf
from rnnsearch_tf.translation import Translator

PACKAGE = pathlib.Path(rnnsearch_tf.__file__).parent

TRANSLATION = 18, 11_450
LOSS = 11, 4_700
"""Files and tokens at most, as it is today; they go up only for what a user asked for."""

NOT_READ = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def functions_run(work):
    """{file of the package: first lines of its functions that ran}, in this and started threads."""
    met = collections.defaultdict(set)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{PACKAGE}/"):
            met[pathlib.Path(code.co_filename)].add(code.co_firstlineno)

    threading.setprofile(note)
    sys.setprofile(note)
    tf.config.run_functions_eagerly(True)  # AutoGraph would run copies from files of its own
    try:
        work()
    finally:
        tf.config.run_functions_eagerly(False)
        sys.setprofile(None)
        threading.setprofile(None)
    return met


def lines_of(path, first_lines):
    """The lines of the functions that begin there, their docstrings left out."""
    text = path.read_text(encoding="utf-8")
    lines = set()
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            docstring = node.body[0]
            docstrings |= set(range(docstring.lineno, docstring.end_lineno + 1))
        if first in first_lines or node.lineno in first_lines:
            lines |= set(range(first, node.end_lineno + 1))
    return lines - docstrings


def annotation_spans(text):
    """(start, end) of the type annotations, each a (line, column); from the colon of a parameter
    or a variable on.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.annotation:
            start = node.lineno, node.col_offset + len(node.arg)
        elif isinstance(node, ast.AnnAssign):
            start = node.target.end_lineno, node.target.end_col_offset
        elif isinstance(node, ast.FunctionDef) and node.returns:
            start = node.returns.lineno, node.returns.col_offset
        else:
            continue
        last = node.returns if isinstance(node, ast.FunctionDef) else node.annotation
        yield start, (last.end_lineno, last.end_col_offset)


def tokens_of(path, first_lines):
    """Tokens of the functions that begin at these lines."""
    lines = lines_of(path, first_lines)
    text = path.read_text(encoding="utf-8")
    annotations = list(annotation_spans(text))
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(
        token.start[0] in lines
        and token.type not in NOT_READ
        and token.string != "->"
        and not any(start <= token.start < end for start, end in annotations)
        for token in found
    )


def counted(work):
    """{name of a file: its tokens that a reader meets}."""
    met = functions_run(work)
    return {
        path.relative_to(PACKAGE).as_posix(): tokens_of(path, first_lines)
        for path, first_lines in met.items()
    }


def check(counts, most_files, most_tokens):
    table = "\n".join(f"{count:6} {name}" for name, count in sorted(counts.items()))
    print(f"{table}\n{len(counts)} files, {sum(counts.values())} tokens")
    assert len(counts) <= most_files, table
    assert sum(counts.values()) <= most_tokens, table


def test_from_text_to_translation(tmp_path):
    translator = Translator.load(write_run(tmp_path / "run"))
    counts = counted(lambda: translator.translate(["The door is white."]))
    expected = {"text/moses.py", "translation/translator.py", "search/beam.py"}
    assert expected <= counts.keys()
    readme = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    readme = readme.split("## Follow one sentence")[1]
    assert not [name for name in counts if f"`{name}`" not in readme]
    check(counts, *TRANSLATION)


def test_from_batch_to_loss(tmp_path):
    model = Translator.load(write_run(tmp_path / "run")).model
    ids = tf.constant([[3, 4, 1], [5, 1, 0]])
    batch = {"source_ids": ids, "target_ids": ids}
    counts = counted(lambda: model.token_losses(batch, training=True))
    assert {"layers/attention.py", "layers/output.py", "models/rnnsearch.py"} <= counts.keys()
    check(counts, *LOSS)
