"""Look at the data of a configuration and say what is wrong with it, before an hour is lost.

One finding a line: `error` (training would stop at it, or be of no use), `warning` or `note`, the
part of the data, and what was found. Exit code 1 if there is an error. Nothing
is written.
"""

from rnnsearch_tf.config import load_config
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser):
    parser.add_argument(
        "--config", required=True, metavar="F.yaml", help="the configuration whose data to look at"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting first",
    )
    parser.add_argument(
        "--quick", action="store_true", help="count words between spaces, and build no vocabularies"
    )


def run(arguments):
    config = load_config(arguments.config, overrides=arguments.set)
    import_tensorflow()
    from rnnsearch_tf.data.inspection.doctor import check_data
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.text.pipeline import build_texts

    findings = check_data(config)
    if not arguments.quick and not _errors(findings):
        # again, in tokens now
        findings = check_data(config, *build_texts(config, open_corpus(config, "train").lines()))
    for finding in findings:
        print(finding)
    warnings = sum(finding.severity == "warning" for finding in findings)
    print(f"{_errors(findings)} error(s), {warnings} warning(s)")
    return 1 if _errors(findings) else 0


def _errors(findings) -> int:
    return sum(finding.severity == "error" for finding in findings)
