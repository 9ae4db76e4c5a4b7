"""Byte-pair codes by subword-nmt and truecasing by sacremoses, for the tests that compare them."""

import contextlib
import gzip
import io
import os
import pathlib

import sacremoses
import tensorflow as tf

SHARED = pathlib.Path(
    os.environ.get("RNNSEARCH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
)


def real_lines(name, most):
    """Lines of a corpus such as multi30k/train.de; none without the data."""
    path = SHARED / "data" / f"{name}.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.strip() for _, line in zip(range(most), file)]


def learned_codes(rows, merges):
    """The file of codes, version 0.2, that subword-nmt learns from rows of tokens."""
    from subword_nmt.learn_bpe import learn_bpe

    written = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe(io.StringIO("\n".join(map(" ".join, rows))), written, merges)
    return written.getvalue()


def of_version_1(codes):
    """Codes of version 0.1 that merge much as these do: ``</w>`` is a symbol by itself."""
    lines = []
    for line in codes.split("\n")[1:-1]:
        left, right = line.split(" ")
        if right.endswith("</w>"):
            lines.append(f"{right[:-4]} </w>")
        lines.append(line)
    return "\n".join(lines) + "\n"


def their_pieces(codes, rows):
    """The pieces of rows of tokens by subword-nmt."""
    from subword_nmt.apply_bpe import BPE

    reference = BPE(io.StringIO(codes))
    return [reference.segment_tokens(row) for row in rows]


def learned_truecaser(rows, path):
    """sacremoses' truecaser of rows of tokens, whose model it writes to a file."""
    sacremoses.MosesTruecaser().train(rows, save_to=str(path))
    return sacremoses.MosesTruecaser(str(path))


def ragged(rows):
    return tf.ragged.constant(rows, tf.string, ragged_rank=1)


def lists(tokens):
    return [[token.decode() for token in row] for row in tokens.to_list()]
