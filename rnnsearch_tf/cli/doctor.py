"""Check the data of a configuration for problems before training, or write a cleaned text.

Prints one finding a line: `error` (training would fail or be useless), `warning` or `note`, the
part of the data, and the finding. The exit code is 1 if there is an error. Writes nothing.

With --fix DIR, it writes the cleaned training text instead: two files in DIR, named as those of the
configuration, and changes.tsv with every line that was left out or changed, and why.
  left out       pairs that are not UTF-8, empty, without a partner, copies of the source,
                 duplicates, of very unequal lengths, or in another language
  put right      swapped sides; HTML entities, markup, invisible characters, white space, Unicode
                 normal form; tokenized text is detokenized, unless tokenization is space
It changes no file that exists, and no development text. Another language is seen only with the
extra `languages`.
"""

import shlex
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import pairs_settings
from rnnsearch_tf.config import Config, load_config
from rnnsearch_tf.data.pairs import SIDES
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", required=True, metavar="F.yaml", help="the configuration whose data to check"
    )
    flags.add_pairs(parser, "the configuration's training text")
    flags.add_settings(parser, "change one setting first")
    flags.add_switch(parser, "--quick", "count words between spaces; build no vocabularies")
    parser.add_argument(
        "--fix", metavar="DIR", help="write the cleaned training text to DIR, and check nothing"
    )


def run(arguments: Namespace) -> int:
    if arguments.fix is not None and arguments.quick:
        raise UsageError("--quick: expected no --fix with it, which builds no vocabularies anyway")
    arguments.set = [*pairs_settings(arguments), *arguments.set]
    config = load_config(arguments.config, overrides=arguments.set)
    import_tensorflow()
    if arguments.fix is not None:
        _fix(config, arguments)
        return 0
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.data.inspection.doctor import check_data
    from rnnsearch_tf.text.pipeline import build_texts

    # the languages take longest, so they are looked at in the last pass
    findings = check_data(config, languages=arguments.quick)
    if not arguments.quick and not _errors(findings):
        pairs = open_corpus(config, "train")
        # again, now in tokens
        findings = check_data(config, *build_texts(config, pairs.lines()))
    for finding in findings:
        print(finding)
    warnings = sum(finding.severity == "warning" for finding in findings)
    print(f"{_errors(findings)} error(s), {warnings} warning(s)")
    return 1 if _errors(findings) else 0


def _fix(config: Config, arguments: Namespace) -> None:
    """Write the cleaned text, and say what was done."""
    from rnnsearch_tf.data.inspection.cleaning import clean_text
    from rnnsearch_tf.data.inspection.foreign import LIBRARY
    from rnnsearch_tf.runtime.optional import has, install

    cleaned = clean_text(config, arguments.fix)
    *files, changes = cleaned.files
    source, target = files
    print(f"{cleaned.written:,} of {cleaned.read:,} pairs written: {source}, {target}")
    for found, count in cleaned.left_out.items():
        print(f"{count:>9,}  pairs {found}: left out")
    for done, count in cleaned.changed.items():
        print(f"{count:>9,}  {done}")
    print(f"each with its file, line and reason: {changes}")
    if not has(LIBRARY):
        print(f"lines in another language were not looked for: {install(LIBRARY)}")
    cleaned_text = [f"data.train_{side}={path.absolute()}" for side, path in zip(SIDES, files)]
    kept = [setting for setting in arguments.set if not setting.startswith("data.train_")]
    settings = " ".join(f"--set {shlex.quote(setting)}" for setting in [*kept, *cleaned_text])
    print("use them by two lines of the configuration, under data:")
    print(f"  train_source: {source.absolute()}")
    print(f"  train_target: {target.absolute()}")
    print(f"or by:  rnnsearch doctor --config {shlex.quote(arguments.config)} {settings}")


def _errors(findings) -> int:
    return sum(finding.severity == "error" for finding in findings)
