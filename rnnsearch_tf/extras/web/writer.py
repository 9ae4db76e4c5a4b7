"""Export a RUN as a folder of static files: the attention page, and the model as ONNX in it."""

from __future__ import annotations

import base64
import importlib.resources
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.about import about
from rnnsearch_tf.export.graph_export import GraphExport
from rnnsearch_tf.export.publishing import new_version
from rnnsearch_tf.export.writer import Exported
from rnnsearch_tf.extras.onnx.writer import ONNX
from rnnsearch_tf.extras.server.attention_page import TYPES as FILES_OF_THE_SERVER
from rnnsearch_tf.extras.web.library import read_library
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text import subwords
from rnnsearch_tf.translation.loading import Paths

WHAT = "export --format web"
SETTINGS = "model.json"
LIBRARY = "onnxruntime"
OWN_FILES = "server.js", "text.js", "worker.js"
POLICY = (
    "default-src 'none'; connect-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src"
    " 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'"
)
"""The page talks to nobody: what is typed stays in the browser."""

CHARSET = '<meta charset="utf-8">'


def export_web(
    runs: Paths,
    output: str | os.PathLike[str],
    version: int | None = None,
    profile: str | os.PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
    library: str | os.PathLike[str] | None = None,
) -> Exported:
    """Export a RUN, or an ensemble of several, as a web page that translates in the browser.

    OUTPUT/N is a folder of static files, which any web host can serve. Nothing is sent anywhere:
    onnxruntime-web searches in a thread of the browser.

    Args:
        runs, output, version, profile, overrides, combine: as of
            :func:`~rnnsearch_tf.export.graph_export.export_graph`.
        library: path of the npm package onnxruntime-web, a .tgz or its folder.

    Raises:
        UserError: as of :func:`~rnnsearch_tf.export.graph_export.export_graph`; `library` is
            missing or damaged; the tokenization is neither sentencepiece nor space.
        UsageError: the profile has an option without effect here.
    """
    require(WHAT, "tf2onnx", "onnx", "onnxruntime", "sentencepiece")
    files = read_library(library)
    export = GraphExport(WHAT, ONNX, runs, output, version, profile, overrides, combine)
    sides = {side: page_settings(export.settings[side], side) for side in ("source", "target")}
    with new_version(output, version, graph=True) as (target, folder):
        exported = export.write(target, folder, "index.html is the page; serve the folder")
        settings = {
            **export.settings,
            **sides,
            "about": about(export.runs[0]),
            "bytes": exported.bytes + sum(map(len, files.values())),
        }
        write_page(folder, settings, files)
    return exported


def page_settings(side: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The text settings of one side, with the pieces of its SentencePiece model in plain lists.

    Raises:
        UserError: the page cannot tokenize like this.
    """
    if side["tokenization"] == "space":
        return dict(side)
    if side["tokenization"] != "sentencepiece":
        raise UserError(
            f"{WHAT}: expected tokenization sentencepiece or space, got {side['tokenization']}"
            f" ({name}); export a SavedModel for a server, or train with sentencepiece"
        )
    from sentencepiece import sentencepiece_model_pb2

    parse = sentencepiece_model_pb2.ModelProto.FromString  # type: ignore[attr-defined]
    model = parse(base64.b64decode(side["subword_model"]))
    kinds = {piece.type for piece in model.pieces[3:]}
    is_plain_unigram = model.trainer_spec.model_type == model.trainer_spec.UNIGRAM and kinds <= {
        model.SentencePiece.NORMAL
    }
    if not is_plain_unigram:
        raise UserError(
            f"{WHAT}: expected a unigram model of normal pieces, got another SentencePiece model"
            f" ({name}); export a SavedModel for a server"
        )
    if _rules(model) != _rules(parse(subwords.train({"ab": 1, "a": 2}, 6))):
        raise UserError(
            f"{WHAT}: expected the normalization rules of a SentencePiece model that this package"
            f" trains, got others ({name}); export a SavedModel for a server"
        )
    return {
        **{key: value for key, value in side.items() if key != "subword_model"},
        "tokens": [piece.piece for piece in model.pieces],
        "scores": [piece.score for piece in model.pieces],
    }


def _rules(model: Any) -> tuple[Any, ...]:
    """What a SentencePiece model does with a text before it looks for pieces."""
    rules = model.normalizer_spec
    return (
        rules.precompiled_charsmap,
        rules.add_dummy_prefix,
        model.trainer_spec.treat_whitespace_as_suffix,
    )


def write_page(
    folder: pathlib.Path, settings: Mapping[str, Any], library: Mapping[str, bytes]
) -> None:
    """Write the files of the page, but for the model, to an existing folder.

    Args:
        settings: content of model.json.
        library: files of onnxruntime-web, {name: content}.
    """
    server = importlib.resources.files("rnnsearch_tf.extras.server") / "page"
    own = importlib.resources.files("rnnsearch_tf.extras.web") / "page"
    for name in {*FILES_OF_THE_SERVER, *OWN_FILES} - {"page.html"}:
        (folder / name).write_bytes(((own if name in OWN_FILES else server) / name).read_bytes())
    page = (server / "page.html").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page = page.replace(CHARSET, f"{CHARSET}\n{policy}", 1)
    (folder / "index.html").write_text(page, encoding="utf-8")
    text = json.dumps(settings, ensure_ascii=False)
    (folder / SETTINGS).write_text(text, encoding="utf-8")
    (folder / LIBRARY).mkdir()
    for name, content in library.items():
        (folder / LIBRARY / name).write_bytes(content)
