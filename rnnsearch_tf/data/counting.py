"""Count the words of a corpus; where it is in several files, in several processes."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile

from rnnsearch_tf.config import as_dictionary, load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.pairs import Report
from rnnsearch_tf.runtime.processes import Processes, processes_for
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.text.counting import count_tokens
from rnnsearch_tf.text.pipeline import build_texts, text_of_counts, token_counts

SIDES = "source", "target"


def corpus_pieces(pairs) -> list:
    """[(number of the corpus, its Pairs)], or those of its files where it is in several; in the
    order of the pairs.
    """
    return [
        (number, piece)
        for number, (corpus, _) in enumerate(pairs.corpora)
        for piece in corpus.shards
    ]


def build_corpus_texts(config, pairs, processes=None, folder=None) -> list:
    """As :func:`~rnnsearch_tf.text.pipeline.build_texts` of the pairs, the same to the byte; their
    report is there afterwards.

    Args:
        config: Config.
        pairs: Pairs that ``open_corpus(config)`` gave.
        processes: Processes; None: as many as the text is worth.
        folder: where several processes write their counts, and find those that are there already; a
            temporary one without `processes`.
    """
    owners, pieces = zip(*corpus_pieces(pairs))
    asked = [side for side in SIDES if getattr(config, side).vocabulary is None]
    if processes is None:
        with (
            Processes(processes_for(pieces)) as processes,
            tempfile.TemporaryDirectory(prefix="rnnsearch-counts-") as folder,
        ):
            return build_corpus_texts(config, pairs, processes, folder)
    if processes.number == 1 or len(pieces) == 1 or not asked:
        return build_texts(config, pairs.lines())
    left = [number for number in range(len(pieces)) if not _path(folder, number, "report").exists()]
    requests = [
        {"settings": as_dictionary(config), "number": number, "sides": asked, "folder": str(folder)}
        for number in left
    ]
    processes.call(f"{__name__}:count_piece", requests, "counting words")
    reports = [
        Report(**json.loads(_path(folder, number, "report").read_text(encoding="utf-8")))
        for number in range(len(pieces))
    ]
    counts = {side: _added(getattr(config, side), side, pieces, reports, folder) for side in asked}
    for number, (corpus, _) in enumerate(pairs.corpora):
        corpus.take_report(
            sum((report for owner, report in zip(owners, reports) if owner == number), Report())
        )
    pairs.take_report(sum(reports, Report()))
    return [
        text_of_counts(getattr(config, side), counts.get(side), f"{side} training text")
        for side in SIDES
    ]


def count_piece(settings, number, sides, folder) -> None:
    """Count the words of one file of a configuration; the counts and its report are written to the
    folder.
    """
    config = load_config(values=settings)
    pairs = corpus_pieces(open_corpus(config))[number][1]
    counts = {side: token_counts(getattr(config, side)) for side in sides}
    count_tokens(counts, pairs.lines())
    for side, counted in counts.items():
        counted.save(_path(folder, number, side))
    # it says that the counts are whole
    write_file(_path(folder, number, "report"), json.dumps(dataclasses.asdict(pairs.check())))


def _path(folder, number, what):
    return pathlib.Path(folder) / f"count-{number:06}.{what}"


def _added(config, side, pieces, reports, folder):
    """The counts of all files; where only the first lines of a text count, the file in which these
    end is counted again up to there.
    """
    counts = token_counts(config)
    left = counts.most_lines
    for number, (piece, report) in enumerate(zip(pieces, reports)):
        path = _path(folder, number, side)
        if left is not None:
            if left < report.kept:
                counted = token_counts(config, left)
                count_tokens({side: counted}, piece.lines())
                counted.save(path)
            left = max(0, left - report.kept)
        counts.add_saved(path)
        if left == 0:
            break
    return counts
