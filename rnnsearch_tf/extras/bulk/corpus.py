"""All files of a corpus: in this process, in several of this machine, or through Apache Beam."""

from __future__ import annotations

import os

from rnnsearch_tf.extras.bulk.engine import identity_of, load_engine, settings_of
from rnnsearch_tf.extras.bulk.folder import CorpusFolder
from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.config import DataConfig
from rnnsearch_tf.runtime.processes import Processes
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.cores import available_cores
from rnnsearch_tf.runtime.progress import announced, progress


def translate_corpus(
    models, inputs, output, workers=None, beam_options=None, combine="probabilities", search=None
) -> dict:
    """Translate files, each into a file of the same name; those that are done already are left as
    they are.

    Args:
        models: list of paths or names, as ``--model`` takes them.
        inputs: paths and patterns.
        output: path of the folder.
        workers: processes that each translate one file after the other; 1: this process alone;
            None: one for each core.
        beam_options: list of str, Apache Beam's own options; it does the work then.
        combine, search: see :func:`~rnnsearch_tf.extras.bulk.engine.settings_of`.

    Returns:
        dict: ``files``, how many there are; ``translated``, how many of them this call has;
            ``bad_lines``, how many lines were not translated.

    Raises:
        UserError, UsageError: see :class:`~rnnsearch_tf.extras.bulk.folder.CorpusFolder`; or a file
            or the model cannot be read.
    """
    settings = settings_of(models, combine, search)
    inputs = files_of(DataConfig(), tuple(inputs), "--input")
    for name in inputs:
        if not os.path.isfile(name):
            raise UserError(
                f"--input: {name}: expected a text file, found"
                f" {'a folder' if os.path.isdir(name) else 'none'}; check the path"
            )
    with CorpusFolder(output, inputs, identity_of(settings)) as folder:
        left = folder.left()
        if left and beam_options is not None:
            from rnnsearch_tf.extras.bulk.pipeline import run_pipeline

            run_pipeline(settings, left, beam_options)
        elif left:
            _in_processes(settings, left, workers or available_cores())
        return {"files": len(inputs), "translated": len(left), "bad_lines": folder.bad_lines()}


def _in_processes(settings, shards, workers):
    if min(workers, len(shards)) == 1:
        with announced("loading the model"):
            engine = load_engine(settings)
        for shard in progress(shards, doing="translating", unit="files"):
            translate_shard(engine, **shard)
        return
    with Processes(workers) as processes:
        processes.call(
            f"{__name__}:translate_one",
            [{"settings": settings, "shard": shard} for shard in shards],
            "translating",
        )


def translate_one(settings, shard) -> None:
    """One file, in a process that translates one after the other."""
    translate_shard(load_engine(settings), **shard)
