"""Translate standard input, line by line, with an export for LiteRT and without TensorFlow.

    pip install ai-edge-litert ./runtime
    python export/litert_example.py DIR/N < text.en > text.fr

DIR/N is what `rnnsearch export --format litert` wrote. The runtime supplies the handling of text;
the graph has the whole beam search.
"""

import codecs
import json
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from rnnsearch_runtime.text import SPECIAL_TOKENS, UNKNOWN_ID, Text


class Translator:
    """Translates one sentence at a time.

    Args:
        folder: path of DIR/N.
        threads: of a product.
    """

    def __init__(self, folder, threads=1):
        folder = pathlib.Path(folder)
        settings = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        if settings["format"] > 1:
            sys.exit("expected settings of format 1, got a newer one; use a newer program")
        self.source = Text(settings["source"], "source")
        self.target = Text(settings["target"], "target")
        self.limit = settings["maximum_source_length"]
        self.replaces = settings["search"]["replace_unknown"]
        self.lexicon = settings.get("lexicon", {})
        self.interpreter = Interpreter(str(folder / "model.tflite"), num_threads=threads)
        self.search = self.interpreter.get_signature_runner()

    def __call__(self, line):
        tokens = self.source.tokenize(line)
        if not tokens:
            return ""
        if len(tokens) > self.limit:
            print(f"cut {len(tokens)} tokens to the maximum, {self.limit}", file=sys.stderr)
            tokens = tokens[: self.limit]
        found = self.search(source_ids=np.array([self.source.ids(tokens)], np.int32))  # [1, J]
        if not found["lengths"][0, 0]:
            sys.exit("expected a translation, got none; its weights may be NaN: export another")
        # the best of ids [1, N, I] and of alignments [1, N, I, J]
        words = self.target.tokens(found["ids"][0, 0].tolist())
        if self.replaces:
            places = found["alignments"][0, 0, :, : len(tokens)].argmax(axis=1)
            words = [
                (self.lexicon.get(tokens[place]) or tokens[place])
                if word == SPECIAL_TOKENS[UNKNOWN_ID]
                else word
                for word, place in zip(words, places)
            ]
        return self.target.detokenize(words)


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else ""
    if not pathlib.Path(folder, "model.tflite").exists():
        sys.exit(f"expected DIR/N of `rnnsearch export --format litert`, got {folder!r}")
    translate = Translator(folder)
    for number, line in enumerate(sys.stdin.buffer):
        line = line.rstrip(b"\n")
        if not number:
            line = line.removeprefix(codecs.BOM_UTF8)
        print(translate(line), flush=True)


if __name__ == "__main__":
    main()
