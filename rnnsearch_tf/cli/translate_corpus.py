"""Translate text in many files: for each file in, one file out, of the same name, in DIR.

Each output file has exactly one line for each line of its input, in order. A line that
cannot be translated (not UTF-8, a control character, longer than the model takes) is empty
there, and DIR/bad-lines/NAME.jsonl says which line it is and why.

  rnnsearch translate-corpus --model served/mine --input 'text/part-*.gz' --output translated

A file appears in DIR when it is whole. Stopped (by SIGTERM with exit code 75) or killed, the
same command goes on with the files that are not there yet. It refuses to go on with another model
or other options. The model is a RUN, several as an ensemble, or what `rnnsearch export` wrote.

--workers processes translate one file after the other, on one core each, so text in more
files than cores keeps all of them busy. What stands behind -- goes to Apache Beam, which then
does the work (pip install 'rnnsearch-tf[beam]'):

  rnnsearch translate-corpus … -- --runner=FnApiRunner --direct_running_mode=multi_processing
  --direct_num_workers=4

With several machines, model, input and DIR must be in a file system that all of them see.
"""

import json
import sys

from rnnsearch_tf.cli.shared import (
    add_model,
    add_search,
    search_changes,
    sigterm_raises,
    whole_number,
)
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser):
    add_model(parser)
    parser.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="PATTERN",
        help="text files, plain or .gz: paths, or patterns such as 'part-*.gz'",
    )
    parser.add_argument(
        "--output", required=True, metavar="DIR", help="folder for the translations"
    )
    parser.add_argument(
        "--workers",
        type=whole_number(1),
        metavar="N",
        help="files translated at once, each by a process on one core (default: one for each core)",
    )
    add_search(parser)
    parser.add_argument(
        "beam_options",
        nargs="*",
        metavar="BEAM OPTION",
        help="behind --: options of Apache Beam, which then does the work",
    )


def run(arguments):
    search = search_changes(arguments)
    beam_options = arguments.beam_options or None
    if beam_options and not beam_options[0].startswith("--"):
        raise UsageError(
            f"expected options of Apache Beam behind --, got {beam_options[0]!r}; files stand"
            " behind --input"
        )
    if beam_options and arguments.workers:
        raise UsageError(
            "--workers: expected it without options of Apache Beam, which has its own, such as"
            " --direct_num_workers; leave one out"
        )
    with sigterm_raises():
        import_tensorflow()
        from rnnsearch_tf.extras.bulk.corpus import translate_corpus

        result = translate_corpus(
            arguments.model,
            arguments.input,
            arguments.output,
            arguments.workers,
            beam_options,
            arguments.combine,
            search,
        )
    if result["bad_lines"]:
        print(
            f"{result['bad_lines']:,} lines were not translated; {arguments.output}/bad-lines says"
            " which and why",
            file=sys.stderr,
        )
    print(json.dumps({"output": arguments.output} | result))
