"""Small local copies of WMT'14's corpora, and what is made of them."""

import dataclasses
import gzip
import hashlib
import io
import tarfile

from papers import downloads
from papers import wmt14

NAMES = ["europarl", "nc", "un", "commoncrawl", "giga"]
QUICK = [
    "training.maximum_updates=2",
    "training.evaluate_every=2",
    "training.evaluate_sentences=4",
    "data.batch_size=4",
    "model.hidden_size=8",
    "model.embedding_size=8",
    "model.maxout_size=8",
    "model.output_rank=8",
    "search.beam_size=2",
]


def pairs_of(name, number=60):
    """Lines of both sides as bytes; those of the news commentary are of the words of the
    development text.
    """
    words = ["news", "minister", "vote"] if name == "nc" else [f"{name}{k}" for k in range(3)]
    english = [f"{words[k % 3]} {words[k % 2]} é {k % 4} ." for k in range(number)]
    return [
        [line.encode() for line in text]
        for text in (english, [f"{line.upper()} !" for line in english])
    ]


def pack(path, members, texts):
    """Write a tar archive with these texts, each a list of lines; return it as bytes."""
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        for member, lines in zip(members, texts):
            data = b"".join(line + b"\n" for line in lines)
            data = gzip.compress(data) if member.endswith(".gz") else data
            information = tarfile.TarInfo(member)
            information.size = len(data)
            archive.addfile(information, io.BytesIO(data))
    return path.read_bytes()


def known(archive, path, pairs=60):
    """The Archive whose size and sum are those of a local file."""
    data = path.read_bytes()
    return dataclasses.replace(
        archive, size=len(data), sha256=hashlib.sha256(data).hexdigest(), pairs=pairs
    )


def texts(data):
    return wmt14.Wmt14Texts(data.parent / "out", data)


def join(data):
    """Make the text of all archives."""
    downloads.join_archives(wmt14.ARCHIVES, data / "wmt14", texts(data).all)


def lines(path):
    return gzip.decompress(path.read_bytes()).split(b"\n")[:-1]


def command(data, item="all", *more, scale="paper"):
    return [
        item,
        "--scale",
        scale,
        "--data",
        str(data),
        "--output",
        str(data.parent / "out"),
        *more,
    ]
