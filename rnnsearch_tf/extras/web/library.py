"""onnxruntime-web: runs ONNX files in a browser. It comes from npm; its MIT licence is kept."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import tarfile
import zlib

from rnnsearch_tf.errors import UserError

TRIED = "1.30.0"
"""The version that the page was tried with; others of the same interface, 1.N from FIRST on, are
taken too.
"""
FIRST = 20
LARGEST = 64 << 20
"""Bytes of a file of it."""

FILES = {
    "dist/ort.wasm.min.mjs": "ort.wasm.min.js",
    "dist/ort-wasm-simd-threaded.mjs": "ort-wasm-simd-threaded.js",
    "dist/ort-wasm-simd-threaded.wasm": "ort-wasm-simd-threaded.wasm",
    "package.json": "package.json",
}
"""{path in the package: name beside the page}. Scripts are called .js there, since not every web
host knows .mjs.
"""
ADVICE = f"get it with `npm pack onnxruntime-web@{TRIED}`, then --onnxruntime-web FILE.tgz"


_DAMAGE = (
    OSError,
    EOFError,
    tarfile.TarError,
    zlib.error,
    ValueError,
    LookupError,
    TypeError,  # package.json is no dictionary
    RecursionError,
)


def read_library(path: str | os.PathLike[str] | None) -> dict[str, bytes]:
    """The files that a page needs of onnxruntime-web: {name beside the page: content}.

    Args:
        path: the package as npm packs it (.tgz), or its folder, such as
            ``node_modules/onnxruntime-web``.

    Raises:
        UserError: there is none, or it is damaged, another package, or another version.
    """
    if path is None:
        raise UserError(f"export --format web: expected the package onnxruntime-web; {ADVICE}")
    try:
        packed = not pathlib.Path(path).is_dir()
        found = _unpacked(path) if packed else _folder(pathlib.Path(path))
        about = json.loads(found["package.json"])
        name, version = str(about["name"]), str(about["version"])
    except _DAMAGE as error:
        raise UserError(
            f"{path}: expected the package onnxruntime-web, got {type(error).__name__}: {error};"
            f" {ADVICE}"
        ) from None
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    if name != "onnxruntime-web" or major != "1" or not minor.isdecimal() or int(minor) < FIRST:
        raise UserError(
            f"{path}: expected onnxruntime-web of version 1.{FIRST} or a later 1.N, got {name}"
            f" {version}; {ADVICE}"
        )
    return found


def _folder(path: pathlib.Path) -> dict[str, bytes]:
    return {name: (path / source).read_bytes() for source, name in FILES.items()}


def _unpacked(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The files of a package of npm, whose paths begin with "package/"."""
    found = {}
    with gzip.open(path) as unzipped, tarfile.open(fileobj=unzipped, mode="r|") as archive:
        for member in archive:
            name = FILES.get(member.name.removeprefix("package/"))
            if name is None:
                continue
            if member.size > LARGEST:
                raise ValueError(f"{member.name} has {member.size:,} bytes, at most {LARGEST:,}")
            content = archive.extractfile(member)
            if content is not None:
                found[name] = content.read()
        while unzipped.read(1 << 20):
            pass  # up to the checksum
    missing = [source for source, name in FILES.items() if name not in found]
    if missing:
        raise LookupError(f"no file {missing[0]}")
    return found
