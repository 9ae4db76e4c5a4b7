"""The text settings of a model, stored as JSON in its ONNX file."""

from __future__ import annotations

import base64
import dataclasses
import json
import typing
from typing import Any

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.unknown import Lexicon
from rnnsearch_tf.text.pipeline import Text

if typing.TYPE_CHECKING:
    import onnx

KEY = "rnnsearch"
FORMAT = 1
"""Number of the format; a runtime refuses a higher one than it knows."""

TEXT_OPTIONS = ("language", "tokenization", "lowercase", "unicode_form", "remove_invisible")
SEARCH_OPTIONS = ("beam_size", "nbest", "length_penalty", "replace_unknown")


def settings(
    name: str,
    texts: tuple[Text, Text],
    search: SearchConfig,
    *,
    maximum_source_length: int,
    has_attention: bool,
    lexicon: Lexicon | None,
) -> dict[str, Any]:
    """What a runtime needs beside the graph, as values of JSON.

    Args:
        name: name of the model.
        texts: (source Text, target Text).
        search: the search options of the graph.
        maximum_source_length: tokens; a runtime cuts longer sources.
        has_attention: whether the alignments have a meaning.
        lexicon: Lexicon for unknown words, or None.
    """
    source, target = texts
    options = dataclasses.asdict(search)
    values: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "source": text_settings(source),
        "target": text_settings(target),
        "maximum_source_length": maximum_source_length,
        "has_attention": has_attention,
        "search": {option: options[option] for option in SEARCH_OPTIONS},
    }
    if lexicon is not None:
        keys, words = (tensor.numpy().tolist() for tensor in lexicon.table.export())
        values["lexicon"] = {key.decode(): word.decode() for key, word in zip(keys, words)}
    return values


def add_metadata(model: onnx.ModelProto, values: dict[str, Any]) -> None:
    """Store the settings in an ONNX file."""
    entry = model.metadata_props.add()
    entry.key = KEY
    entry.value = json.dumps(values, ensure_ascii=False)


def text_settings(text: Text) -> dict[str, Any]:
    """Text settings of one side: options, and a SentencePiece model in base64 or tokens."""
    values: dict[str, Any] = {option: getattr(text.config, option) for option in TEXT_OPTIONS}
    if text.subword_model is not None:
        values["subword_model"] = base64.b64encode(text.subword_model).decode("ascii")
    else:
        values["tokens"] = list(text.vocabulary.tokens)
    return values
