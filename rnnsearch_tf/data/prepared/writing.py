"""Text → a prepared corpus: the engine of ``rnnsearch prepare``.

Everything is written beside the folder, to ``.NAME.partial``, which gets its name when all of it is
on the disk. A killed preparation goes on with the parts that were done, if it is started again with
the same configuration and the same files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil

import numpy as np
import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import Config, as_dictionary, load_config
from rnnsearch_tf.data.corpus import open_corpus, training_corpora
from rnnsearch_tf.data.counting import build_corpus_texts, corpus_pieces
from rnnsearch_tf.data.dataset import EncodedPairs, none_fits
from rnnsearch_tf.data.pairs import Pairs, Report
from rnnsearch_tf.data.prepared.store import (
    FORMAT,
    IDS,
    LENGTHS,
    LENGTH_LIMITS,
    MANIFEST,
    OFFSETS,
    PreparedPairs,
    digest_of_manifest,
)
from rnnsearch_tf.runtime.processes import Processes, processes_for
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import NamedFile, locked, naming, sync, write_file
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runs.folder import Run, digest_of
from rnnsearch_tf.text.pipeline import load_text
from rnnsearch_tf.files.untrusted import check_links, refuse_link

_PLAN = "plan.json"
_BUILT = "texts.done"


def prepare(
    config: Config, output: str | os.PathLike, processes: int | None = None
) -> PreparedPairs:
    """Write the training pairs of a configuration as ids, with the vocabularies that they are ids
    of.

    Args:
        config: Config; vocabularies that it does not name are built from the training text.
        output: path of the folder, which must not be there yet, or be empty.
        processes: how many read a text in several files at once; None: one for each core, where the
            text is worth it.

    Returns:
        PreparedPairs.

    Raises:
        UsageError: the folder holds something, or the configuration draws subwords anew each time.
        UserError: bad lines under on_bad_line "error", unreadable files, no pair within the length
            limits.
    """
    output = pathlib.Path(os.path.abspath(output))
    _check(config, output)
    partial = output.with_name(f".{output.name}.partial")
    refuse_link(partial)
    check_links(partial)
    with locked(partial, output):
        pieces = corpus_pieces(open_corpus(config, "train"))
        _begin(partial, _plan(config))
        with Processes(processes or processes_for([pairs for _, pairs in pieces])) as pool:
            texts = _texts(config, partial, pool)
            _write_pieces(pieces, config, partial, pool)
        _finish(config, pieces, texts, partial)
        try:
            partial.rename(output)
        except OSError as error:
            raise UserError(
                f"{output}: expected a folder that can be made, got: {error.strerror}"
            ) from None
        sync(output.parent)
    return PreparedPairs(output)


def _check(config, output):
    for side in ("source", "target"):
        if getattr(config, side).sampling is not None:
            raise UsageError(
                f"{side}.sampling: draws other pieces every time a sentence is read, but a prepared"
                f" corpus has its ids once and for all; set {side}.sampling=null, or train from the"
                " text"
            )
    if config.data.prepared is not None:
        raise UsageError(
            "data.prepared: expected text to prepare, got the prepared corpus"
            f" {config.data.prepared}; set data.prepared=null"
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        found = "one with something in it" if output.is_dir() else "a file"
        raise UsageError(
            f"{output}: expected no such folder, or an empty one, got {found}; choose another"
            " --output"
        )


def _plan(config) -> dict:
    """What the parts that are done depend on: the configuration, the files as they are, the
    program.
    """
    settings = {
        name: value
        for name, value in as_dictionary(config).items()
        if name in ("source", "target", "data")
    }
    texts = [
        side for corpus in training_corpora(config.data) for side in (corpus.source, corpus.target)
    ] + [config.data.phrase_table or ""]
    files = [path for text in texts for path in files_of(config.data, text)] + [
        config.source.vocabulary or "",
        config.target.vocabulary or "",
    ]
    stands = [
        [path, os.stat(path).st_size, os.stat(path).st_mtime_ns]
        for path in files
        if os.path.isfile(path)
    ]
    return json.loads(
        json.dumps(
            {"format": FORMAT, "version": __version__, "settings": settings, "files": stands}
        )
    )


def _begin(partial, plan):
    """Keep what an earlier preparation of the same text has done; throw away that of another."""
    path = partial / _PLAN
    with contextlib.suppress(OSError, ValueError):
        if json.loads(path.read_text(encoding="utf-8")) == plan:
            return
    for other in partial.iterdir():
        other.unlink()
    write_file(path, _json(plan))


def _texts(config, partial, processes):
    """[source Text, target Text]: those that were built before, or built now."""
    if (partial / _BUILT).exists():
        return _load(config, partial)
    texts = build_corpus_texts(
        config, open_corpus(config, "train"), processes=processes, folder=partial
    )
    for side, text in zip(("source", "target"), texts):
        text.save(partial, side)
    write_file(partial / _BUILT, "")
    return texts


def _load(config, partial):
    return [load_text(partial, side, getattr(config, side)) for side in ("source", "target")]


def _part(partial, number):
    return lambda name: partial / f"part-{number:06}.{name}"


def _write_pieces(pieces, config, partial, processes):
    """All parts that do not exist yet."""
    _encoded.cache_clear()  # another preparation had other vocabularies
    left = [number for number in range(len(pieces)) if not _part(partial, number)("json").exists()]
    requests = [
        {"settings": as_dictionary(config), "number": number, "folder": str(partial)}
        for number in left
    ]
    processes.call(f"{__name__}:write_piece", requests, "writing ids")


@functools.lru_cache(maxsize=1)
def _encoded(config, partial):
    """What encodes all files of this process: TensorFlow keeps what it has traced, 10 MB of it for
    a file.
    """
    return EncodedPairs(*_load(config, partial), Pairs((), ()), config.data)


def write_piece(settings, number, folder) -> None:
    """Write a shard's pairs as ids and lengths; last its report, which says that it is done."""
    config = load_config(values=settings)
    partial = pathlib.Path(folder)
    too_long = 0
    encoded = _encoded(config, partial)
    part = _part(partial, number)
    encoded.pairs = pairs = corpus_pieces(open_corpus(config, "train"))[number][1]
    kinds = _types([encoded.source_text, encoded.target_text], config)
    with NamedFile(part(IDS)) as ids_file, NamedFile(part(LENGTHS)) as lengths_file:
        for source, target, dropped in encoded.dataset.as_numpy_iterator():
            lengths = np.stack([source[1], target[1]], axis=1)  # [pairs, 2]
            together = tf.concat(
                [tf.RaggedTensor.from_row_lengths(*side[:2]) for side in (source, target)], axis=1
            )
            ids_file.write(together.flat_values.numpy().astype(kinds[0]).tobytes())
            lengths_file.write(lengths.astype(kinds[1]).tobytes())
            too_long += int(dropped)
    for name in (IDS, LENGTHS):
        with naming(part(name)):
            sync(part(name))
    report = dataclasses.asdict(dataclasses.replace(pairs.check(), too_long=too_long))
    write_file(part("json"), _json({"report": report}))


def _types(texts, config):
    """NumPy types of ids and of lengths, little-endian."""
    largest_id = max(text.vocabulary.size for text in texts) - 1
    longest = max(getattr(config.data, name) for name in LENGTH_LIMITS) + 1
    return ["<u2" if largest < 2**16 else "<u4" for largest in (largest_id, longest)]


def _finish(config, pieces, texts, partial):
    """Join the parts, write the manifest, and leave nothing else."""
    written = (
        _part(partial, number)("json").read_text(encoding="utf-8") for number in range(len(pieces))
    )
    reports = [Report(**json.loads(part)["report"]) for part in written]
    kept = [report.kept - report.too_long for report in reports]
    if not sum(kept):
        names = [
            f"{pieces[0][1].name(side)}{' …' if len(pieces) > 1 else ''}"
            for side in ("source", "target")
        ]
        raise none_fits(names, [getattr(config.data, name) for name in LENGTH_LIMITS])
    id_kind, length_kind = _types(texts, config)
    with announced("joining the parts"):
        ids = _join(partial, len(pieces), length_kind)
    _write_development(config, partial)
    corpora = []
    for number, corpus in enumerate(training_corpora(config.data)):
        parts_of = [(count, pairs) for count, (of, pairs) in zip(kept, pieces) if of == number]
        names = {side: [pairs.name(side) for _, pairs in parts_of] for side in ("source", "target")}
        corpora.append(
            {"weight": corpus.weight, "pairs": sum(count for count, _ in parts_of), **names}
        )
    own = [
        *(partial / name for name in (IDS, OFFSETS, LENGTHS)),
        *Run(partial).text_files(),
        *sorted(partial.glob("development.*.txt")),
    ]
    with announced("taking checksums"):
        files = {
            path.name: {"bytes": path.stat().st_size, "sha256": digest_of(path)} for path in own
        }
    manifest = {
        "format": FORMAT,
        "made_with": f"rnnsearch_tf {__version__}, tensorflow {tf.__version__}",
        "pairs": sum(kept),
        "ids": ids,
        "id_type": np.dtype(id_kind).name,
        "length_type": np.dtype(length_kind).name,
        "corpora": corpora,
        **{side: dataclasses.asdict(getattr(config, side)) for side in ("source", "target")},
        **{name: getattr(config.data, name) for name in LENGTH_LIMITS},
        "report": dataclasses.asdict(sum(reports, Report())),
        "files": files,
    }
    manifest = json.loads(_json(manifest))
    write_file(partial / MANIFEST, _json(manifest | {"sha256": digest_of_manifest(manifest)}))
    for path in partial.iterdir():
        if path in own or path.name == MANIFEST:
            with naming(path):
                sync(path)
        else:
            path.unlink()
    sync(partial)


def _join(partial, parts, length_kind) -> int:
    """The files of so many parts, one behind the other, and where each pair ends and the next
    begins; how many ids there are.
    """
    end = np.zeros(1, np.int64)
    with contextlib.ExitStack() as stack:
        ids, lengths, offsets = (
            stack.enter_context(NamedFile(partial / name)) for name in (IDS, LENGTHS, OFFSETS)
        )
        offsets.write(end.tobytes())
        for number in range(parts):
            part = _part(partial, number)
            with open(part(IDS), "rb") as file:
                shutil.copyfileobj(file, ids, 1 << 20)
            with open(part(LENGTHS), "rb") as file:
                while block := file.read(1 << 20):
                    lengths.write(block)
                    end = end[-1] + np.cumsum(
                        np.frombuffer(block, length_kind).reshape(-1, 2).sum(axis=1, dtype=np.int64)
                    )
                    offsets.write(end.astype("<i8").tobytes())
    return int(end[-1])


def _write_development(config, partial):
    """The text that is held out of training, for development."""
    pairs = open_corpus(config, "development") if config.data.held_out else None
    if pairs is not None:
        for side, lines in zip(("source", "target"), zip(*pairs)):
            text = "".join(f"{line}\n" for line in lines)
            write_file(partial / f"development.{side}.txt", text)


def _json(value):
    return json.dumps(value, indent=1, ensure_ascii=False)
