"""Check the data of a configuration for problems before training.

Prints one finding a line: `error` (training would fail or be useless), `warning` or `note`, the
part of the data, and the finding. The exit code is 1 if there is an error. Writes nothing.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.shared import add_pairs, pairs_settings
from rnnsearch_tf.config import load_config
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", required=True, metavar="F.yaml", help="the configuration whose data to check"
    )
    add_pairs(parser, "the configuration's training text")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting first",
    )
    parser.add_argument(
        "--quick", action="store_true", help="count words between spaces; build no vocabularies"
    )


def run(arguments: Namespace) -> int:
    config = load_config(arguments.config, overrides=[*pairs_settings(arguments), *arguments.set])
    import_tensorflow()
    from rnnsearch_tf.data.inspection.doctor import check_data
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.text.pipeline import build_texts

    findings = check_data(config)
    if not arguments.quick and not _errors(findings):
        pairs = open_corpus(config, "train")
        # again, now in tokens
        findings = check_data(config, *build_texts(config, pairs.lines()))
    for finding in findings:
        print(finding)
    warnings = sum(finding.severity == "warning" for finding in findings)
    print(f"{_errors(findings)} error(s), {warnings} warning(s)")
    return 1 if _errors(findings) else 0


def _errors(findings) -> int:
    return sum(finding.severity == "error" for finding in findings)
