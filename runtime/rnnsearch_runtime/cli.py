"""Translate standard input to standard output, one sentence a line, with an exported model.

Each line of input, also an empty one, gives one line of output as soon as it arrives; with
--n-best N, the lines of its n-best list. The search is fixed in the model file.

Output, as of `rnnsearch translate`:
  the translation; --alignment adds links after a tab
  --n-best N   Moses n-best list: id ||| text ||| LogProbability= … Length= … ||| score; --alignment
               adds links as a fifth field
  --json       one object a line: text, score, log_probability, tokens, source_tokens, alignment
               with --alignment, probability with --probabilities, nbest with --n-best

Links are Pharaoh links source-target of words, from 0, without the end symbols. In JSON, alignment
is the attention matrix, a row for each target token, a column for each source token, the end
symbols last.

Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the reader of the output is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rnnsearch_runtime import Hypothesis, Translation, Translator, __version__
from rnnsearch_runtime.text import WORD_START, Text

_LONGEST_LINE = 1 << 20
_NOT_TEXT = b"\x1f\x8b", b"\xfd7zXZ", b"BZh91AY", b"\x28\xb5\x2f\xfd", b"PK\3\4"  # compressed
_NOT_TEXT += b"\xff\xfe", b"\xfe\xff"  # UTF-16
_BATCHES = 4  # of lines at once, so that those in a batch have similar lengths


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, with the words after its name, and return its exit code."""
    # a closed standard stream must not become the descriptor of another file
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    parser = _parser()
    try:
        return _run(parser, parser.parse_args(argv))
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:
        return 141
    except Exception as error:  # users see one line, no traceback
        kind = "" if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: "
        _say(f"error: {kind}{error}")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rnnsearch-translate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--version", action="version", version=f"%(prog)s {__version__}")
    add("--model", metavar="F.onnx", help="the model file (default: the one in this package)")
    number: dict[str, Any] = {"type": _at_least_1, "metavar": "N"}
    add("--n-best", **number, default=1, help="hypotheses for each sentence (default: 1)")
    add("--json", action="store_true", help="write JSON, see above")
    add("--alignment", action="store_true", help="also write alignments")
    add("--probabilities", action="store_true", help="also write the mean probability of a token")
    add("--batch-size", **number, default=64, help="sentences in a batch (default: 64)")
    add("--threads", **number, default=1, help="threads of an operation (default: 1)")
    return parser


def _at_least_1(text: str) -> int:
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number, at least 1, got {text!r}")


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    nbest = arguments.n_best
    form = "json" if arguments.json else "nbest" if nbest > 1 else "text"
    if form == "nbest" and arguments.probabilities:
        parser.error("--probabilities: expected no n-best list with it; add --json")
    translator = Translator(arguments.model, arguments.threads)
    if nbest > (most := translator.search.get("nbest", 1)):
        parser.error(f"--n-best {nbest}: expected at most {most}, as the model was exported with")
    if arguments.alignment and not translator.has_attention:
        parser.error("--alignment: expected a model with attention, got one that aligns nothing")
    formatted = _formatter(translator, form, arguments)
    if os.isatty(0):
        _say("type a sentence and press Enter; Ctrl-D ends")
    number = replaced = 0
    for lines in _batches(_BATCHES * arguments.batch_size):
        texts = [line.decode("utf-8", "replace") for line in lines]
        if number == 0:
            if lines[0].startswith(_NOT_TEXT):
                raise ValueError("stdin: expected UTF-8, got UTF-16 or compressed text; convert it")
            texts[0] = texts[0].removeprefix("\ufeff")  # a byte-order mark
        replaced += sum(text.encode() not in line for text, line in zip(texts, lines))
        output = b""
        for translation in translator.translate(texts, arguments.batch_size):
            for line in formatted(number, translation):
                output += re.sub("[\r\n]+", " ", line).encode() + b"\n"
            number += 1
        while output:
            output = output[os.write(1, output) :]
    if replaced:
        _say(f"warning: bytes that are not UTF-8 were replaced by U+FFFD in {replaced} line(s)")
    return 0


def _batches(size: int) -> Iterator[list[bytes]]:
    """Yield lists of 1 to `size` lines of standard input, without line feeds, as they arrive."""
    lines: list[bytes] = []
    rest = b""
    while chunk := os.read(0, 1 << 16):
        *complete, rest = (rest + chunk).split(b"\n")
        lines += complete
        too_long = len(rest) > _LONGEST_LINE
        while len(lines) >= size or (lines and (too_long or not _can_read_now())):
            yield lines[:size]
            del lines[:size]
        if too_long:
            raise ValueError(
                f"standard input: expected lines of at most {_LONGEST_LINE:,} bytes, got a longer"
                " one; break it, or take it out"
            )
    lines += [rest] if rest else []
    if lines:
        yield lines


def _can_read_now() -> bool:
    """Whether reading standard input would return at once; for a plain file, always."""
    return stat.S_ISREG(os.fstat(0).st_mode) or bool(select.select([0], [], [], 0)[0])


def _formatter(
    translator: Translator, form: str, arguments: argparse.Namespace
) -> Callable[[int, Translation], list[str]]:
    """A function of (number from 0, translation) that gives the output lines of a sentence."""
    nbest = arguments.n_best

    def aligned(hypothesis: Hypothesis, source_tokens: list[str]) -> Any:
        if form == "json":
            return [[round(float(x), 4) for x in row] for row in hypothesis.alignment]
        return _pharaoh(
            hypothesis.alignment,
            _shares(source_tokens, translator.source),
            _shares(hypothesis.tokens, translator.target),
        )

    def fields(hypothesis: Hypothesis, source_tokens: list[str]) -> dict[str, Any]:
        names = ["text", "score", "log_probability", "tokens"]
        found = {name: getattr(hypothesis, name) for name in names}
        return found | (
            {"alignment": aligned(hypothesis, source_tokens)} if arguments.alignment else {}
        )

    def formatted(number: int, translation: Translation) -> list[str]:
        source = translation.source_tokens
        hypotheses = translation.nbest[:nbest]
        if form == "json":
            found = fields(translation, source) | {"source_tokens": source}
            if arguments.probabilities:
                found["probability"] = round(translation.probability, 4)
            if nbest > 1:
                found["nbest"] = [fields(hypothesis, source) for hypothesis in hypotheses]
            return [json.dumps(found, ensure_ascii=False)]
        if form == "text":
            columns = [translation.text]
            if arguments.alignment:
                columns.append(aligned(translation, source))
            if arguments.probabilities:
                columns.append(f"{translation.probability:.3f}")
            return ["\t".join(columns)]
        return [
            f"{number} ||| {hypothesis.text.replace('|||', '| | |')} |||"
            f" LogProbability= {hypothesis.log_probability:.6f} Length= {len(hypothesis.tokens)}"
            f" ||| {hypothesis.score:.6f}"
            + (f" ||| {aligned(hypothesis, source)}" if arguments.alignment else "")
            for hypothesis in hypotheses
        ]

    return formatted


def _pharaoh(alignment: Any, source: Any, target: Any) -> str:
    """Links ``0-0 1-2``: each target word is linked to the source word that it attends to most, by
    an alignment [I, J] and the shares of both sides.
    """
    if not source.size or not target.size:
        return ""
    # the sum over the pieces of a source word, the mean over those of a target word
    weights = (target / target.sum(axis=0)).T @ (alignment[:-1, :-1].astype("float64") @ source)
    links = sorted((int(j), i) for i, j in enumerate(weights.argmax(axis=1)) if weights[i].any())
    return " ".join(f"{j}-{i}" for j, i in links)


def _shares(tokens: list[str], text: Text) -> Any:
    """The share of each token that belongs to each word, float64 [tokens, words]. A U+2581 that is
    a piece by itself belongs to the next word.
    """
    if text.tokenization != "sentencepiece":
        return np.eye(len(tokens))
    words = filter(None, "".join(tokens).split(WORD_START))
    # the number of the word that each character belongs to
    owners = [number for number, word in enumerate(words) for _ in word]
    shares = np.zeros((len(tokens), owners[-1] + 1 if owners else 0))
    place = 0
    for row, token in zip(shares, tokens):
        length = len(token.replace(WORD_START, ""))
        for owner in owners[place : place + max(length, 1)] or owners[-1:]:
            row[owner] += 1
        place += length
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)


def _say(message: str) -> None:
    with contextlib.suppress(OSError, AttributeError):  # standard error may be gone
        sys.stderr.write(f"rnnsearch-translate: {' '.join(message.split())}\n")


if __name__ == "__main__":
    raise SystemExit(main())
