"""Translate text in many files: each input file gives an output file of the same name in DIR.

Each output file has exactly one line for each line of its input, in order. A line that cannot be
translated (not UTF-8, with a control character, longer than the model accepts) becomes an empty
line, and DIR/bad-lines/NAME.jsonl has its number and the reason.

  rnnsearch translate-corpus --model served/mine --input 'text/part-*.gz' --output translated

A file appears in DIR when it is complete. If the command is stopped (by SIGTERM, with exit code 75)
or killed, running it again continues with the missing files. It refuses to continue with another
model or other options. The model is a RUN, several RUNs as an ensemble, or an export.

--workers processes each translate one file at a time, on one core each, so more files than cores
keep all cores busy. Options after -- go to Apache Beam, which then does the work (pip install
'rnnsearch-tf[beam]'):

  rnnsearch translate-corpus … -- --runner=FnApiRunner --direct_running_mode=multi_processing
  --direct_num_workers=4

On several machines, model, input and DIR must be in a shared file system.
"""

import json
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import combination, search_changes, sigterm_raises
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="PATTERN",
        help="text files, plain or .gz: paths, or patterns such as 'part-*.gz'",
    )
    flags.add_folder(parser, "folder for the translations")
    flags.add_whole_number(
        parser, "--workers", "number of processes, each on one core (default: one for each core)"
    )
    flags.add_search(parser)
    parser.add_argument(
        "beam_options",
        nargs="*",
        metavar="BEAM OPTION",
        help="after --: options of Apache Beam, which then does the work",
    )


def run(arguments: Namespace) -> None:
    search = search_changes(arguments)
    combine = combination(arguments)
    beam_options = arguments.beam_options or None
    if beam_options and not beam_options[0].startswith("--"):
        raise UsageError(
            f"expected options of Apache Beam after --, got {beam_options[0]!r}; name input files"
            " after --input"
        )
    if beam_options and arguments.workers:
        raise UsageError(
            "--workers: expected no options of Apache Beam with it, which has its own, such as"
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
            combine,
            search,
        )
    if result["bad_lines"]:
        print(
            f"{result['bad_lines']:,} lines were not translated; {arguments.output}/bad-lines lists"
            " them with the reasons",
            file=sys.stderr,
        )
    print(json.dumps({"output": arguments.output} | result))
