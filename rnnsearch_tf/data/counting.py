"""Count the words of a corpus, with several processes if it has several files."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.config import Config, TextConfig, as_dictionary, load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.pairs import SIDES, Pairs, Report
from rnnsearch_tf.runtime.cores import available_cores
from rnnsearch_tf.runtime.processes import Processes
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.tables import split
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.text.counting import count_tokens
from rnnsearch_tf.text.pipeline import build_texts, text_of_counts, token_counts

if TYPE_CHECKING:
    from rnnsearch_tf.text.counting import TokenCounts
    from rnnsearch_tf.text.pipeline import Text

SMALL_TEXT_BYTES = 10_000_000
"""Bytes of text below which starting processes takes longer than the work."""


def processes_for(shards: Sequence[Pairs]) -> int:
    """Number of processes to use for shards of a text: one per core but at most one for each; 1,
    this process alone, if the text is small.
    """
    sides = [getattr(pairs, side) for pairs in shards for side in ("source", "target")]
    paths = [split(side)[0] for side in sides if isinstance(side, (str, os.PathLike))]
    size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    return min(available_cores(), len(shards)) if size > SMALL_TEXT_BYTES else 1


def corpus_shards(pairs: Pairs) -> list[tuple[int, Pairs]]:
    """(number of the corpus, Pairs) of each shard of each corpus, in their order."""
    numbered = enumerate(corpus for corpus, _ in pairs.corpora)
    return [(number, shard) for number, corpus in numbered for shard in corpus.shards]


def build_corpus_texts(
    config: Config,
    pairs: Pairs,
    processes: Processes | None = None,
    folder: AnyPath | None = None,
) -> list[Text]:
    """Build the source and target Text of a corpus, as
    :func:`~rnnsearch_tf.text.pipeline.build_texts` does, and set the report of the pairs.

    Args:
        config: the configuration.
        pairs: the pairs of ``open_corpus(config)``.
        processes: the processes to use; None: a number that suits the size of the text.
        folder: folder for the counts of several processes; existing counts are reused. Required
            with `processes`.
    """
    owners, shards = zip(*corpus_shards(pairs))
    built = [side for side in SIDES if getattr(config, side).vocabulary is None]
    if processes is None:
        with (
            Processes(processes_for(shards)) as processes,
            tempfile.TemporaryDirectory(prefix="rnnsearch-counts-") as folder,
        ):
            return build_corpus_texts(config, pairs, processes, folder)
    if processes.number == 1 or len(shards) == 1 or not built:
        return build_texts(config, pairs.lines())
    assert folder is not None
    report_paths = [_path(folder, number, "report") for number in range(len(shards))]
    requests = [
        {"settings": as_dictionary(config), "number": number, "sides": built, "folder": str(folder)}
        for number, path in enumerate(report_paths)
        if not path.exists()
    ]
    processes.call(f"{__name__}:count_shard", requests, "counting words")
    reports = [Report(**json.loads(path.read_text(encoding="utf-8"))) for path in report_paths]
    counts = {
        side: _total_counts(getattr(config, side), side, shards, reports, folder) for side in built
    }
    for number, (corpus, _) in enumerate(pairs.corpora):
        own = (report for owner, report in zip(owners, reports) if owner == number)
        corpus.set_report(sum(own, Report()))
    pairs.set_report(sum(reports, Report()))
    return [
        text_of_counts(getattr(config, side), counts.get(side), f"{side} training text")
        for side in SIDES
    ]


def count_shard(
    settings: dict[str, Any], number: int, sides: Sequence[str], folder: AnyPath
) -> None:
    """Count the words of one shard of a configuration, and write the counts and its report to the
    folder.
    """
    config = load_config(values=settings)
    pairs = corpus_shards(open_corpus(config))[number][1]
    counts = {side: _new_counts(getattr(config, side)) for side in sides}
    count_tokens(counts, pairs.lines())
    for side, side_counts in counts.items():
        side_counts.save(_path(folder, number, side))
    # written last: it marks the counts as complete
    write_file(_path(folder, number, "report"), json.dumps(dataclasses.asdict(pairs.check())))


def _path(folder: AnyPath, number: int, kind: str) -> pathlib.Path:
    return pathlib.Path(folder) / f"count-{number:06}.{kind}"


def _new_counts(config: TextConfig, most_lines: int | None = None) -> TokenCounts:
    """Counts of a side that builds its vocabulary."""
    counts = token_counts(config, most_lines)
    assert counts is not None
    return counts


def _total_counts(
    config: TextConfig,
    side: str,
    shards: Sequence[Pairs],
    reports: Sequence[Report],
    folder: AnyPath,
) -> TokenCounts:
    """The counts of all shards. If only the first lines of a text are used, the shard in which they
    end is counted again up to that line.
    """
    counts = _new_counts(config)
    left = counts.most_lines
    counts.is_cut = left is not None and left < sum(report.kept for report in reports)
    for number, (shard, report) in enumerate(zip(shards, reports)):
        path = _path(folder, number, side)
        if left is not None:
            if left < report.kept:
                partial = _new_counts(config, left)
                count_tokens({side: partial}, shard.lines())
                partial.save(path)
            left = max(0, left - report.kept)
        counts.add_saved(path)
        if left == 0:
            break
    return counts
