"""Check the data of a configuration for problems before training.

Prints one finding a line: `error` (training would fail or be useless), `warning` or `note`, the
part of the data, and the finding, in numbers: empty lines, lengths in tokens, copies, duplicates,
unknown words, shifted lines, development sentences in the training text. The exit code is 1 if
there is an error. Writes nothing.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        required=True,
        metavar="F.yaml",
        help="the configuration whose data to check: a file, or the name of a shipped one",
    )
    shared.add_settings(parser, "change one setting first; repeatable")


def run(arguments: Namespace) -> int:
    from rnnsearch_tf.config import load_config

    config = load_config(arguments.config, overrides=arguments.set)
    import_tensorflow()
    from rnnsearch_tf.data.doctor import check_data

    findings = check_data(config)
    for finding in findings:
        print(finding)
    counts = Counter(finding.severity for finding in findings)
    print(f"{counts['error']} error(s), {counts['warning']} warning(s)")
    return 1 if counts["error"] else 0
