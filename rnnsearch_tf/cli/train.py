"""Train a model: builds the vocabularies, trains with model.fit, and keeps the best weights on
the development set in RUN/best. Vocabularies of your own are named by source.vocabulary and
target.vocabulary; --resume and --from keep the RUN's.

Ctrl-C and SIGTERM save the training after the current update or evaluation, print the command to
resume it, and exit with 130; a second one stops at once. Before the first update, while
vocabularies are built, nothing is saved: start again without --resume.

If the gradient of a batch is NaN or infinite, training stops; resume it from its last checkpoint.

--from RUN starts from the best weights and the vocabularies of a trained model, for more text or
text of another domain:

  rnnsearch train --from runs/general --config mine.yaml --output runs/mine

The configuration has RUN's model and text settings: begin it with `base: runs/general/config.yaml`.
The optimizer, the counters, the schedule and the best score start anew.

--distribute mirrored trains on all GPUs of this machine; data.batch_size is the total over all.
"""

import contextlib
import json
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow

FEW = 1000
"""Updates below which little is to be expected of a model."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="F.yaml",
        help="settings that differ from the defaults: a file, or the name of a shipped"
        " configuration; with --resume it may be left out: RUN has its own",
    )
    parser.add_argument("--output", required=True, metavar="RUN", help="folder to write")
    shared.add_settings(parser, "change one setting; repeatable")
    shared.add_switch(parser, "--resume", "resume the training in RUN")
    parser.add_argument(
        "--from", dest="start_from", metavar="RUN", help="start from the model of another RUN"
    )
    shared.add_number(
        parser,
        "--new-words",
        "with --from: add the N most frequent unknown words of the new text to each"
        " vocabulary, or as many pieces to a SentencePiece model",
        minimum=0,
    )
    parser.add_argument(
        "--distribute",
        choices=("mirrored",),
        help="split every batch over the GPUs of this machine",
    )


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.data.corpus import check_files
    from rnnsearch_tf.runs.folder import Run

    path = arguments.config
    if path is None and arguments.resume:
        Run(arguments.output).refuse_resuming()
        path = Run(arguments.output).config
    if path is None:
        raise UsageError("expected --config F.yaml, got none; only --resume can do without it")
    config = load_config(path, arguments.set)
    if not arguments.resume:  # which needs no training text
        check_files(config)  # fail before the slow import of TensorFlow
    # Keras writes its progress bar to standard output
    with contextlib.redirect_stdout(sys.stderr):
        import_tensorflow()
        from rnnsearch_tf.training.fit import train

        summary = train(
            config,
            arguments.output,
            arguments.resume,
            arguments.start_from,
            arguments.new_words or 0,
            arguments.distribute,
        )
    output = shlex.quote(arguments.output)
    if summary["batches"] < FEW:
        few = f"{summary['batches']:,} updates teach a model little; to go on, raise the limit that"
        few += " ended it (training.maximum_minutes, maximum_updates, epochs or patience):"
        print(few, Run(arguments.output).resume_command, "--set …", file=sys.stderr)
    command = f"rnnsearch translate --model {output} < TEXT; to measure it: rnnsearch evaluate"
    command += f" --model {output} --source F --reference F"
    if config.model.system == "cslm":
        command = f"rnnsearch rescore --model {output} --source F NBEST"
    print(f"done. Next: {command}", file=sys.stderr)
    print(json.dumps(summary, ensure_ascii=False, default=float))
