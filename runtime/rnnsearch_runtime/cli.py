"""Translate standard input to standard output, one sentence a line, with an exported model.

Each line of input, also an empty one, gives exactly one line of output; with --output-type nbest,
the lines of its n-best list. A line is translated as soon as it arrives. Output types and scores
are those of `rnnsearch translate`; the search is fixed in the model file.

Output types:
  text   the translation
  json   one object a line: text, score, log_probability, tokens, source_tokens, alignment with
         --alignment, and nbest if --n-best is above 1
  nbest  Moses n-best list: id ||| text ||| LogProbability= … Length= … ||| score

Alignments:
  hard   Pharaoh links source-target of words, from 0, without the end symbols. text: after a tab;
         nbest: a fifth field; json: `alignment`
  soft   the attention matrix, a row for each target token, a column for each source token, the
         end symbols last. text: after a tab, as JSON; json: `alignment`
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import select
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnnsearch_runtime.translator import Hypothesis, Translation, Translator

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED, EXIT_NO_READER = 1, 2, 130, 141

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20
_BATCHES = 4  # of lines at once, so that those in a batch have similar lengths


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; the entry point of ``rnnsearch-translate``.

    Args:
        argv: the words after the program's name; None: those of ``sys.argv``.

    Returns:
        0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the reader of the output is gone.
    """
    # a closed standard stream must not become the descriptor of the model file
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    try:
        return _run(_parser().parse_args(argv))
    except SystemExit as stop:  # argparse, after --help
        return int(stop.code or 0)
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Python flushes the stream once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_NO_READER
    except (ValueError, OSError) as error:  # ModelError, and those of the standard streams
        _say(f"error: {error}")
        return EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    from rnnsearch_runtime import __version__

    parser = argparse.ArgumentParser(
        prog="rnnsearch-translate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument(
        "--model",
        metavar="F.onnx",
        help="file that `rnnsearch export --format onnx` wrote (default: the one in this package)",
    )
    parser.add_argument(
        "--n-best",
        type=_at_least_1,
        metavar="N",
        help="number of hypotheses for each sentence, at most those of the model (default: 1)",
    )
    parser.add_argument(
        "--output-type",
        choices=("text", "json", "nbest"),
        help="output type, see above (default: text, or nbest if --n-best is above 1)",
    )
    parser.add_argument("--alignment", choices=("hard", "soft"), help="also write alignments")
    parser.add_argument(
        "--batch-size",
        type=_at_least_1,
        metavar="N",
        default=64,
        help="number of sentences to translate at once (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=_at_least_1,
        metavar="N",
        default=1,
        help="number of threads (default: %(default)s)",
    )
    return parser


def _at_least_1(text: str) -> int:
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number, at least 1, got {text!r}")


def _usage(message: str) -> int:
    _say(f"error: {message}")
    return EXIT_USAGE


def _run(arguments: argparse.Namespace) -> int:
    nbest = arguments.n_best or 1
    form = arguments.output_type or ("nbest" if nbest > 1 else "text")
    if form == "text" and nbest > 1:
        return _usage(f"--n-best {nbest}: expected --output-type json or nbest with it, got text")
    if form == "nbest" and arguments.alignment == "soft":
        return _usage("--alignment soft: expected --output-type text or json with it, got nbest")
    from rnnsearch_runtime.translator import Translator

    translator = Translator(arguments.model, arguments.threads)
    if nbest > (most := int(translator.search.get("nbest", 1))):
        return _usage(
            f"--n-best {nbest}: expected at most {most}, the n-best list of this model, got more;"
            " export the model with a larger search.nbest"
        )
    if arguments.alignment and not translator.has_attention:
        return _usage(
            f"--alignment: expected a model with attention, got {translator.name}, which aligns"
            " nothing"
        )
    if os.isatty(0):
        _say("type a sentence and press Enter; Ctrl-D ends")
    number = replaced = 0
    for lines in _batches(_BATCHES * arguments.batch_size):
        texts = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines]
        replaced += sum(text.encode() not in line for text, line in zip(texts, lines))
        written = []
        for translation in translator.translate(texts, arguments.batch_size):
            written += _formatted(translator, translation, number, form, arguments.alignment, nbest)
            number += 1
        _write("".join(re.sub("[\r\n]+", " ", line) + "\n" for line in written).encode())
    if replaced:
        _say(
            "warning: standard input: bytes that are not UTF-8 were replaced by U+FFFD in"
            f" {replaced} line(s)"
        )
    return 0


def _batches(size: int) -> Iterator[list[bytes]]:
    """Yield lists of 1 to `size` lines of standard input, without line feeds, as soon as they
    arrive; a byte-order mark at the start is skipped.
    """
    lines: list[bytes] = []
    rest = b""
    started = False
    while chunk := os.read(0, _CHUNK):
        if not started:
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
            started = True
        *complete, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise ValueError(
                f"standard input: expected lines of at most {_LONGEST_LINE:,} bytes, got a longer"
                " one; break it, or take it out"
            )
        lines += complete
        while len(lines) >= size:
            yield lines[:size]
            del lines[:size]
        if lines and not _can_read_now():
            yield lines
            lines = []
    lines += [rest] if rest else []
    if lines:
        yield lines


def _can_read_now() -> bool:
    """Whether reading standard input would return at once; for a plain file, always."""
    return stat.S_ISREG(os.fstat(0).st_mode) or bool(select.select([0], [], [], 0)[0])


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _formatted(
    translator: Translator,
    translation: Translation,
    number: int,
    form: str,
    alignment: str | None,
    nbest: int,
) -> list[str]:
    """The output lines of one sentence; `number` counts from 0."""
    import json

    def aligned(hypothesis: Hypothesis) -> Any:
        from rnnsearch_runtime.alignment import as_lists, pharaoh

        if alignment == "soft":
            return as_lists(hypothesis.alignment)
        sides = (
            (translator.source, translation.source_tokens),
            (translator.target, hypothesis.tokens),
        )
        pieces = [
            tokens if text.tokenization == "sentencepiece" else None for text, tokens in sides
        ]
        return pharaoh(hypothesis.alignment, *pieces)

    def fields(hypothesis: Hypothesis) -> dict[str, Any]:
        names = "text", "score", "log_probability", "tokens"
        found = {name: getattr(hypothesis, name) for name in names}
        return found | ({"alignment": aligned(hypothesis)} if alignment else {})

    if form == "nbest":
        lines = []
        for one in translation.nbest[:nbest]:
            text = one.text.replace("|||", "| | |")  # the separator may not occur in a field
            features = f"LogProbability= {one.log_probability:.6f} Length= {len(one.tokens)}"
            columns = [str(number), text, features, f"{one.score:.6f}"]
            lines.append(" ||| ".join(columns + ([aligned(one)] if alignment else [])))
        return lines
    if form == "json":
        found = fields(translation) | {"source_tokens": translation.source_tokens}
        if nbest > 1:
            found["nbest"] = [fields(one) for one in translation.nbest[:nbest]]
        return [json.dumps(found, ensure_ascii=False)]
    if not alignment:
        return [translation.text]
    value = aligned(translation)
    return [f"{translation.text}\t{value if isinstance(value, str) else json.dumps(value)}"]


def _say(message: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error may be gone
        sys.stderr.write(f"rnnsearch-translate: {' '.join(message.split())}\n")
        sys.stderr.flush()
