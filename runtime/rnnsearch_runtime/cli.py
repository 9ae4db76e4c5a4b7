"""Translate standard input to standard output, one sentence a line, with an exported model.

Each line of input, also an empty one, gives one line of output as soon as it arrives: the
translation, or with --json an object: text, score, log_probability, tokens, finished, probability
(the geometric mean of the tokens'), token_probabilities, source_tokens, alignment (a row for each
target token, a column for each source token, the end symbols last), and nbest, at most --n-best of
the list that the model was exported with. The search is fixed in the model file.

Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the reader of the output is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rnnsearch_runtime.model import SHIPPED
from rnnsearch_runtime import Hypothesis, Translation, Translator, __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, with the words after its name, and return its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.n_best > 1 and not arguments.json:
        parser.error("--n-best: expected --json with it; add --json")
    try:
        _run(arguments)
        return 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # which Python flushes at its end
        return 141
    except (ValueError, OSError) as error:  # users see one line, no traceback
        print(f"rnnsearch-translate: error: {' '.join(str(error).split())}", file=sys.stderr)
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
    add("--model", metavar="F.onnx", default=SHIPPED, help="default: the model in this package")
    add("--json", action="store_true", help="write JSON, see above")
    add("--n-best", type=_count, metavar="N", default=1, help="hypotheses of --json (default: 1)")
    add(
        "--batch-size",
        type=_count,
        metavar="N",
        default=64,
        help="sentences in a batch (default: 64)",
    )
    add(
        "--threads",
        type=_count,
        metavar="N",
        default=1,
        help="threads of an operation (default: 1)",
    )
    return parser


def _count(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {word!r}")
    return int(word)


def _run(arguments: argparse.Namespace) -> None:
    translator = Translator(arguments.model, arguments.threads)
    for lines in _batches():
        for translation in translator.translate(lines, arguments.batch_size):
            text = _json(translation, arguments.n_best) if arguments.json else translation.text
            sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()


def _batches() -> Iterator[list[bytes]]:
    """Yield the lines of standard input, without line feeds, as they arrive."""
    rest = b""
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _json(translation: Translation, nbest: int) -> str:
    values = _fields(translation) | {"source_tokens": translation.source_tokens}
    if nbest > 1:
        values["nbest"] = [_fields(hypothesis) for hypothesis in translation.nbest[:nbest]]
    return json.dumps(values, ensure_ascii=False)


def _fields(hypothesis: Hypothesis) -> dict[str, Any]:
    names = "text", "score", "log_probability", "tokens", "finished", "probability"
    fields = {name: getattr(hypothesis, name) for name in names}
    probabilities = np.exp(hypothesis.token_log_probabilities).tolist()
    fields["token_probabilities"] = [
        [token, round(p, 4)] for token, p in zip(hypothesis.tokens, probabilities)
    ]
    fields["alignment"] = [[round(x, 4) for x in row] for row in hypothesis.alignment.tolist()]
    return fields


if __name__ == "__main__":
    raise SystemExit(main())
