"""Convert the training text of a configuration to ids, once, for corpora larger than memory.

Training on the result starts and resumes at once, and shuffles all pairs together:

  rnnsearch prepare --config F.yaml --output DIR
  rnnsearch train --config F.yaml --output RUN --set data.prepared=DIR \\
      --set data.train_source=null --set data.train_target=null --set data.held_out=0

The first command prints the second one as it is for F.yaml.
Vocabularies and SentencePiece models that F.yaml does not name are built, too. Several files on
each side (a list or a pattern in data.train_source) are read in parallel. If it is stopped (by
SIGTERM, with exit code 75) or killed, the same command continues with the remaining files. --check
compares a prepared corpus with its checksums.
"""

import dataclasses
import json
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import sigterm_raises, yaml_value
from rnnsearch_tf.config import DataConfig, default_of, load_config
from rnnsearch_tf.data.corpus import check_files
from rnnsearch_tf.config.effects import names_without_effect, sections_of
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.config.option import names_with


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="F.yaml", help="the configuration whose training text to prepare"
    )
    flags.add_settings(parser, "change one setting first")
    flags.add_folder(parser, "folder to write; with --check, folder to read")
    flags.add_whole_number(
        parser,
        "--processes",
        "processes that read several files at once (default: one for each core)",
    )
    flags.add_switch(
        parser, "--check", "write nothing; compare all files of DIR with their checksums"
    )


def run(arguments: Namespace) -> None:
    if arguments.check:
        _check(arguments)
        return
    if arguments.config is None:
        raise UsageError(
            "expected --config F.yaml, got none (only --check can do without); see rnnsearch"
            " prepare --help"
        )
    config = load_config(arguments.config, overrides=arguments.set)
    check_files(config)
    with sigterm_raises():
        import_tensorflow()
        from rnnsearch_tf.data.prepared.writing import prepare

        pairs = prepare(config, arguments.output, arguments.processes)
    print(f"{pairs.report}. Next: {_next_command(arguments, config)}", file=sys.stderr)
    print(
        json.dumps(
            {"prepared": arguments.output, "pairs": pairs.count, "ids": pairs.manifest["ids"]}
        )
    )


def _next_command(arguments, config) -> str:
    """The command that trains on the prepared corpus.

    It resets the options that name the text or hold some of it out, and those that then have no
    effect.
    """
    text = {
        name: default_of(f"data.{name}")
        for name in (*names_with(DataConfig, "names_training_text"), "held_out")
    }
    named = [name for name, default in text.items() if getattr(config.data, name) != default]
    data = dataclasses.replace(
        config.data, prepared=arguments.output, **{name: text[name] for name in named}
    )
    dropped = {f"data.{name}" for name in named} | names_without_effect(
        sections_of(config) | {"data": data}
    )
    settings = [setting for setting in arguments.set if setting.partition("=")[0] not in dropped]
    settings += [
        f"data.prepared={arguments.output}",
        *(f"data.{name}={yaml_value(text[name])}" for name in named),
    ]
    changes = [word for setting in settings for word in ("--set", setting)]
    return shlex.join(
        ["rnnsearch", "train", "--config", arguments.config, "--output", "RUN", *changes]
    )


def _check(arguments) -> None:
    if arguments.config is not None or arguments.set or arguments.processes is not None:
        raise UsageError(
            "--check: expected --output DIR alone, got --config, --set or --processes with it;"
            " leave them out"
        )
    import_tensorflow()
    from rnnsearch_tf.data.prepared.store import PreparedPairs

    pairs = PreparedPairs(arguments.output)
    pairs.verify()
    print(f"{arguments.output}: {pairs.count:,} pairs, all checksums match")
