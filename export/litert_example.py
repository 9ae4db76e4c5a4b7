"""Translate standard input, line by line, with an export for LiteRT and without TensorFlow.

    pip install ai-edge-litert ./runtime
    python export/litert_example.py DIR/N < text.en > text.fr

DIR/N is what `rnnsearch export --format litert` wrote. The runtime supplies the handling of text;
the graph has the whole beam search. Unknown words stay <unk>: this example has no replace_unknown.
"""

import json
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from rnnsearch_runtime.text import Text


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
        self.interpreter = Interpreter(str(folder / "model.tflite"), num_threads=threads)
        self.search = self.interpreter.get_signature_runner()

    def __call__(self, line):
        tokens = self.source.tokenize(line)[: self.limit]
        if not tokens:
            return ""
        ids = np.array([self.source.ids(tokens)], np.int32)  # [1, J]
        best = self.search(source_ids=ids)["ids"][0, 0]  # of [1, N, I]
        return self.target.detokenize(self.target.tokens(best.tolist()))


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else ""
    if not pathlib.Path(folder, "model.tflite").exists():
        sys.exit(f"expected DIR/N of `rnnsearch export --format litert`, got {folder!r}")
    translate = Translator(folder)
    for line in sys.stdin.buffer:
        print(translate(line.rstrip(b"\n")), flush=True)


if __name__ == "__main__":
    main()
