"""Translate all files of a corpus in one or several processes, or with Apache Beam."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch_tf.extras.bulk.engine import Engine, identity_of, load_engine, settings_of
from rnnsearch_tf.extras.bulk.folder import CorpusFolder
from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.config import DataConfig
from rnnsearch_tf.runtime.processes import Processes
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.tables import is_column
from rnnsearch_tf.runtime.cores import available_cores
from rnnsearch_tf.runtime.progress import announced, progress


def translate_corpus(
    models: Sequence[str | os.PathLike[str]],
    inputs: Sequence[str],
    output: str | os.PathLike[str],
    workers: int | None = None,
    beam_options: list[str] | None = None,
    combine: str = "probabilities",
    search: Mapping[str, Any] | None = None,
) -> dict[str, int]:
    """Translate files, each into a file of the same name; finished files are skipped.

    Args:
        models: paths or names, as for ``--model``.
        inputs: paths and patterns.
        output: path of the output folder.
        workers: number of processes, which translate one file at a time; 1: only this process;
            None: one for each core.
        beam_options: options of Apache Beam, which then does the work.
        combine, search: see :func:`~rnnsearch_tf.extras.bulk.engine.settings_of`.

    Returns:
        dict: ``files``: number of files; ``translated``: those that this call has translated;
            ``bad_lines``: number of lines that were not translated.

    Raises:
        UserError, UsageError: see :class:`~rnnsearch_tf.extras.bulk.folder.CorpusFolder`; or a file
            or the model cannot be read.
    """
    settings = settings_of(models, combine, search)
    files = files_of(DataConfig(), tuple(inputs), "--input")
    for name in files:
        if is_column(name):
            raise UsageError(
                f"--input: {name}: expected a text file, got a column of a table; write it to a"
                " file first"
            )
        if not os.path.isfile(name):
            raise UserError(
                f"--input: {name}: expected a text file, found"
                f" {'a folder' if os.path.isdir(name) else 'none'}; check the path"
            )
    identity = identity_of(settings)
    settings["identity"] = identity  # processes compare it with that of what they have loaded
    with CorpusFolder(output, files, identity) as folder:
        remaining = folder.remaining()
        if remaining and beam_options is not None:
            from rnnsearch_tf.extras.bulk.pipeline import run_pipeline

            run_pipeline(settings, remaining, beam_options)
        elif remaining:
            _in_processes(settings, remaining, workers or available_cores())
        return {
            "files": len(files),
            "translated": len(remaining),
            "bad_lines": folder.bad_lines(),
        }


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


def translate_one(settings: Mapping[str, Any], shard: Mapping[str, str]) -> None:
    """Translate one file in a worker process, which ends with the corpus."""
    engine = _engine_of_process(json.dumps(settings, sort_keys=True))
    translate_shard(engine, shard["source"], shard["output"], shard["bad"])


@functools.lru_cache(maxsize=1)
def _engine_of_process(settings: str) -> Engine:
    return load_engine(json.loads(settings))
