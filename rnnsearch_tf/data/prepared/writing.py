"""Text → a prepared corpus: the engine of ``rnnsearch prepare``.

Everything is written to ``.NAME.partial`` beside the folder, which is renamed once all of it is on
disk. A killed preparation resumes with its finished parts if it is started again with the same
configuration and the same files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import Config, as_dictionary, load_config
from rnnsearch_tf.data.corpus import open_corpus, training_corpora
from rnnsearch_tf.data.counting import build_corpus_texts, corpus_shards, processes_for
from rnnsearch_tf.data.dataset import EncodedPairs, no_pair_fits
from rnnsearch_tf.data.pairs import SIDES, Pairs, Report
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
from rnnsearch_tf.runtime.processes import Processes
from rnnsearch_tf.data.shards import files_of
from rnnsearch_tf.files.tables import split
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import NamedFile, locked, naming, sync, write_file
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runs.folder import Run, digest_of
from rnnsearch_tf.text.pipeline import Text, load_texts
from rnnsearch_tf.files.untrusted import check_links, refuse_link

Shards = Sequence[tuple[int, Pairs]]
"""(number of the corpus, Pairs) of each shard."""

_PLAN = "plan.json"
_BUILT = "texts.done"


def prepare(
    config: Config, output: str | os.PathLike[str], processes: int | None = None
) -> PreparedPairs:
    """Write the training pairs of a configuration as ids, together with the vocabularies.

    Args:
        config: the configuration; vocabularies that it does not name are built from the training
            text.
        output: path of the folder, which must be new or empty.
        processes: number of processes that read a text in several files; None: one for each core if
            the text is large.

    Returns:
        The prepared corpus.

    Raises:
        UsageError: the folder is not empty, or the configuration samples subwords.
        UserError: bad lines with on_bad_line "error", unreadable files, no pair within the length
            limits.
    """
    folder = pathlib.Path(os.path.abspath(output))
    _check(config, folder)
    partial = folder.with_name(f".{folder.name}.partial")
    refuse_link(partial)
    check_links(partial)
    with locked(partial, folder):
        shards = corpus_shards(open_corpus(config, "train"))
        _begin(partial, _plan(config))
        if not (partial / MANIFEST).exists():
            with Processes(processes or processes_for([pairs for _, pairs in shards])) as pool:
                texts = _texts(config, partial, pool)
                _write_shards(shards, config, partial, pool)
            _finish(config, shards, texts, partial)
        _delete_parts(partial)
        try:
            partial.rename(folder)
        except OSError as error:
            raise UserError(
                f"{folder}: expected a folder that can be made, got: {error.strerror}"
            ) from None
        sync(folder.parent)
    return PreparedPairs(folder)


def _check(config: Config, output: pathlib.Path) -> None:
    if config.data.prepared is not None:
        raise UsageError(
            "data.prepared: expected text to prepare, got the prepared corpus"
            f" {config.data.prepared}; set data.prepared=null"
        )
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        found = "a folder with files" if output.is_dir() else "a file"
        raise UsageError(
            f"{output}: expected a new or empty folder, got {found}; choose another --output"
        )


def _plan(config: Config) -> dict[str, Any]:
    """Everything that finished parts depend on: the configuration, the state of the files, the
    version of the program.
    """
    all_settings = as_dictionary(config)
    settings = {name: all_settings[name] for name in ("source", "target", "data")}
    texts = [
        side for corpus in training_corpora(config.data) for side in (corpus.source, corpus.target)
    ] + [config.data.phrase_table]
    files = [split(path)[0] for text in texts if text for path in files_of(config.data, text)] + [
        side.vocabulary or "" for side in (config.source, config.target)
    ]
    states = [
        [path, os.stat(path).st_size, os.stat(path).st_mtime_ns]
        for path in files
        if os.path.exists(path)
    ]
    plan = {"format": FORMAT, "version": __version__, "settings": settings, "files": states}
    return json.loads(json.dumps(plan))


def _begin(partial: pathlib.Path, plan: dict[str, Any]) -> None:
    """Keep the finished parts of an earlier preparation with the same plan; delete all others."""
    path = partial / _PLAN
    with contextlib.suppress(OSError, ValueError):
        if json.loads(path.read_text(encoding="utf-8")) == plan:
            return
    for other in partial.iterdir():
        other.unlink()
    write_file(path, _json(plan))


def _texts(config: Config, partial: pathlib.Path, processes: Processes) -> Sequence[Text]:
    """(source Text, target Text): loaded from an earlier preparation, or built now."""
    if (partial / _BUILT).exists():
        return load_texts(partial, config)
    texts = build_corpus_texts(
        config, open_corpus(config, "train"), processes=processes, folder=partial
    )
    for side, text in zip(("source", "target"), texts):
        text.save(partial, side)
    write_file(partial / _BUILT, "")
    return texts


def _part(partial: pathlib.Path, number: int) -> Callable[[str], pathlib.Path]:
    """Maps names to the files of a part, which is a shard's output."""
    return lambda name: partial / f"part-{number:06}.{name}"


def _write_shards(
    shards: Shards, config: Config, partial: pathlib.Path, processes: Processes
) -> None:
    """Write all parts that do not exist yet."""
    _encoded.cache_clear()  # another preparation has other vocabularies
    requests = [
        {"settings": as_dictionary(config), "number": number, "folder": str(partial)}
        for number in range(len(shards))
        if not _part(partial, number)("json").exists()
    ]
    processes.call(f"{__name__}:write_shard", requests, "writing ids")


@functools.lru_cache(maxsize=1)
def _encoded(config: Config, partial: pathlib.Path) -> EncodedPairs:
    """The encoder of all shards of this process. One for each shard would leak: TensorFlow keeps
    every traced function, 10 MB each.
    """
    source, target = load_texts(partial, config)
    return EncodedPairs(source, target, Pairs((), ()), config.data)


def write_shard(settings: dict[str, Any], number: int, folder: str) -> None:
    """Write a shard's pairs as ids and lengths, and then its report, which marks the part as
    finished.
    """
    config = load_config(values=settings)
    partial = pathlib.Path(folder)
    too_long = 0
    encoded = _encoded(config, partial)
    part = _part(partial, number)
    encoded.pairs = pairs = corpus_shards(open_corpus(config, "train"))[number][1]
    kinds = _types([encoded.source_text, encoded.target_text], config)
    with NamedFile(part(IDS)) as ids_file, NamedFile(part(LENGTHS)) as lengths_file:
        for source, target, dropped in encoded.dataset.as_numpy_iterator():
            lengths = np.stack([source[1], target[1]], axis=1)  # [pairs, 2]
            ids = tf.concat(
                [tf.RaggedTensor.from_row_lengths(*side[:2]) for side in (source, target)], axis=1
            )
            ids_file.write(ids.flat_values.numpy().astype(kinds[0]).tobytes())
            lengths_file.write(lengths.astype(kinds[1]).tobytes())
            too_long += int(dropped)
    for name in (IDS, LENGTHS):
        with naming(part(name)):
            sync(part(name))
    report = dataclasses.asdict(dataclasses.replace(pairs.check(), too_long=too_long))
    write_file(part("json"), _json({"report": report}))


def _types(texts: Sequence[Text], config: Config) -> list[str]:
    """[NumPy type of ids, NumPy type of lengths], little-endian."""
    largest_id = max(text.vocabulary.size for text in texts) - 1
    longest = max(getattr(config.data, name) for name in LENGTH_LIMITS) + 1
    return ["<u2" if largest < 2**16 else "<u4" for largest in (largest_id, longest)]


def _finish(config: Config, shards: Shards, texts: Sequence[Text], partial: pathlib.Path) -> None:
    """Join the parts, and write the manifest once all other files are on disk."""
    written = (
        _part(partial, number)("json").read_text(encoding="utf-8") for number in range(len(shards))
    )
    reports = [Report(**json.loads(part)["report"]) for part in written]
    kept = [report.kept - report.too_long for report in reports]
    if not sum(kept):
        more = " …" if len(shards) > 1 else ""
        names = [f"{shards[0][1].name(side)}{more}" for side in SIDES]
        raise no_pair_fits(names, [getattr(config.data, name) for name in LENGTH_LIMITS])
    id_kind, length_kind = _types(texts, config)
    with announced("joining the parts"):
        ids = _join(partial, len(shards), length_kind)
    _write_development(config, partial)
    corpora: list[dict[str, Any]] = []
    for number, corpus in enumerate(training_corpora(config.data)):
        parts = [(count, pairs) for count, (owner, pairs) in zip(kept, shards) if owner == number]
        files_by_side = {side: [pairs.name(side) for _, pairs in parts] for side in SIDES}
        size = sum(count for count, _ in parts)
        corpora.append({"weight": corpus.weight, "pairs": size, **files_by_side})
    final = [
        *(partial / name for name in (IDS, OFFSETS, LENGTHS)),
        *Run(partial).text_files(),
        *sorted(partial.glob("development.*.txt")),
    ]
    with announced("taking checksums"):
        files = {
            path.name: {"bytes": path.stat().st_size, "sha256": digest_of(path)} for path in final
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
    for path in final:
        with naming(path):
            sync(path)
    write_file(partial / MANIFEST, _json(manifest | {"sha256": digest_of_manifest(manifest)}))


def _delete_parts(partial: pathlib.Path) -> None:
    """Delete all files that the manifest does not name, the plan last: with it and the manifest, a
    preparation that is stopped here goes on here.
    """
    manifest = json.loads((partial / MANIFEST).read_text(encoding="utf-8"))
    for path in partial.iterdir():
        if path.name not in (MANIFEST, _PLAN, *manifest["files"]):
            path.unlink()
    (partial / _PLAN).unlink()
    sync(partial)


def _join(partial: pathlib.Path, parts: int, length_kind: str) -> int:
    """Concatenate the files of all parts and write the offsets of the pairs; returns the number of
    ids.
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
                    sides = np.frombuffer(block, length_kind).reshape(-1, 2)
                    end = end[-1] + np.cumsum(sides.sum(axis=1, dtype=np.int64))
                    offsets.write(end.astype("<i8").tobytes())
    return int(end[-1])


def _write_development(config: Config, partial: pathlib.Path) -> None:
    """Write the held-out development text, if any."""
    pairs = open_corpus(config, "development") if config.data.held_out else None
    if pairs is not None:
        for side, lines in zip(("source", "target"), zip(*pairs)):
            text = "".join(f"{line}\n" for line in lines)
            write_file(partial / f"development.{side}.txt", text)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
