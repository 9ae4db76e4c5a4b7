"""Run an end-to-end demo on the built-in English-French corpus, in a few minutes on two cores.

Trains configs/phrasebook.yaml, translates held-out sentences, computes BLEU on the whole held-out
part, plots the alignment of a sentence whose adjective changes place, exports the model, serves it,
and queries it over gRPC. A finished demo in DIR is shown again without training. An interrupted one
is resumed. Any other training in DIR is left untouched.
"""

import contextlib
import pathlib
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.config import load_config, saved_config, shipped_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.publishing import exported_version
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run

SHOWN = 6
"""Number of translations to print."""

REORDERED = "Our sick sisters opened this blue door."
"""The sentence to plot, a held-out one: nos sœurs malades, cette porte bleue."""


def arguments(parser: ArgumentParser) -> None:
    flags.add_folder(parser, "folder to write the trained model to", default="runs/demo")
    flags.add_settings(parser, "change one setting of the training")


def run(arguments: Namespace) -> None:
    folder = pathlib.Path(arguments.output)
    config = load_config(shipped_config("phrasebook"), overrides=arguments.set)
    if config.data.corpus != "phrasebook":
        raise UsageError(
            f"--set data.corpus: expected phrasebook in the demo, got {config.data.corpus}; train"
            " on other text with rnnsearch train"
        )
    import_tensorflow()
    _train(config, folder)
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.translation import Translator

    translator = Translator.load(folder)
    pairs = open_corpus(config, "test")
    assert pairs is not None  # the built-in corpus has all parts
    sources, references = (list(side) for side in zip(*pairs))
    translations = translator.translate(sources)
    _examples(sources, translations, references)
    _scores(translations, references)
    _picture(translator, folder / "attention.png")
    _served(_exported(folder), sources[:SHOWN], translations[:SHOWN])
    _next_steps(folder)


def _train(config, folder):
    """Train, resume, or do nothing if training has finished."""
    run = Run(folder)
    started = run.state.exists()
    if run.config.exists() and saved_config(run.config) != config:
        raise UsageError(
            f"{folder}: expected a new folder, or a demo with these settings, got another training,"
            " which would be overwritten; choose another --output"
        )
    if run.config.exists() and run.best_weights.exists() and not started:
        return  # it has finished, and runs --clean has deleted its checkpoints
    with contextlib.redirect_stdout(sys.stderr):
        from rnnsearch_tf.training.fit import train

        print(
            f"{'resuming' if started else 'training'} {folder} on the built-in corpus; Ctrl-C saves"
        )
        train(config, folder, resume=started)


def _examples(sources, translations, references):
    """Print some held-out sentences, wrong translations with their reference."""
    print(f"{SHOWN} of {len(sources)} held-out sentences:")
    for source, translation, reference in list(zip(sources, translations, references))[:SHOWN]:
        correction = "" if translation.text == reference else f"   (reference: {reference})"
        print(f"  {source}\n    {translation.text}{correction}")


def _scores(translations, references):
    from rnnsearch_tf.evaluation.bleu import bleu, chrf

    texts = [translation.text for translation in translations]
    print(f"scores on all {len(texts)}:")
    for metric in (bleu, chrf):
        score = metric(texts, references)
        print(f"  {score}   {score.signature}")


def _picture(translator, path):
    from rnnsearch_tf.extras.plots.alignment import png

    [translation] = translator.translate([REORDERED])
    try:
        write_file(path, png(translation.plot()))
    except UserError as error:  # the extra is not installed; show the rest
        print(f"no attention picture: {error}")
        return
    print(f"where the model looks while it writes {translation.text!r}:", f"  {path}", sep="\n")


def _exported(folder):
    """Export the model, unless an export newer than the weights exists; returns its folder."""
    from rnnsearch_tf.export.writer import export_model

    version = exported_version(folder / "served")
    if version is None or version.stat().st_mtime < Run(folder).best_weights.stat().st_mtime:
        print(
            "exporting, and checking every answer in a fresh process",
            file=sys.stderr,
            flush=True,
        )
        version = export_model(folder, folder / "served").folder
    return version


def _served(version, sources, translations):
    """Compare the served model's answers over gRPC with those of the model in Python."""
    from rnnsearch_tf.extras.server.client import Client
    from rnnsearch_tf.extras.server.server import Server

    with Server("demo", version.parent, port=0, rest_api_port=0) as server:
        with Client(f"127.0.0.1:{server.port}", "demo") as client:
            answers = client.translate(sources)
    same = sum(
        answer.text == translation.text for answer, translation in zip(answers, translations)
    )
    print(
        f"exported and served, {same} of {len(answers)} answers over gRPC are equal to those above:"
    )
    print(f"  {version}")


def _next_steps(folder):
    run, pictures, served = (
        shlex.quote(str(path))
        for path in (folder, folder / "attention", folder.resolve() / "served")
    )
    program = "echo 'My sister sells an old book.' | rnnsearch"
    print(
        "next:",
        f"{program} translate --model {run}",
        f"{program} plot-attention --model {run} --output {pictures}",
        f"rnnsearch serve --model-name demo --model-base-path {served} &",
        f"{program} client --server 127.0.0.1:8500 --model-name demo",
        "http://127.0.0.1:8501/     in a browser, while it is served: translations with their"
        " attention",
        "rnnsearch train --config F.yaml --output RUN     with data.train_source,"
        " data.train_target, … for your own text",
        sep="\n  ",
    )
