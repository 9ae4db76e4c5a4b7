"""How often our tokens, and our text of those tokens, are those of sacremoses, on real text.

    python benchmarks/tokenizer_agreement.py [--data FOLDER] [--every N]

Every line of every FOLDER/*/*.LANGUAGE.gz is tokenized and detokenized by both.
"""

import argparse
import collections
import functools
import gzip
import pathlib
import time

import sacremoses
import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS, TextConfig
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import Vocabulary, batches


@functools.cache
def compiled(language):
    """Text.tokenize and Text.detokenize as compiled functions."""
    text = Text(TextConfig(language=language), Vocabulary([*SPECIAL_TOKENS, "any"]))
    strings = tf.TensorSpec([None], tf.string)
    tokenize = tf.function(text.tokenize, input_signature=[strings])
    detokenize = tf.function(
        text.detokenize, input_signature=[tf.RaggedTensorSpec([None, None], tf.string)]
    )
    detokenize(tokenize(tf.constant(["warm up"])))
    return tokenize, detokenize


def ours(lines, language):
    """Tokens and text of each line by the package, and the seconds both took."""
    tokenize, detokenize = compiled(language)
    start = time.perf_counter()
    tokens = [tokenize(tf.constant(batch)) for batch in batches(lines)]
    middle = time.perf_counter()
    texts = [detokenize(batch) for batch in tokens]
    end = time.perf_counter()
    tokens = [[token.decode() for token in row] for batch in tokens for row in batch.to_list()]
    return (
        tokens,
        [row.decode() for batch in texts for row in batch.numpy()],
        (middle - start, end - middle),
    )


def theirs(lines, language):
    """The same by sacremoses."""
    tokenizer = sacremoses.MosesTokenizer(language)
    detokenizer = sacremoses.MosesDetokenizer(language)
    start = time.perf_counter()
    tokens = [tokenizer.tokenize(line, escape=False) for line in lines]
    middle = time.perf_counter()
    texts = [detokenizer.detokenize(row) for row in tokens]
    return tokens, texts, (middle - start, time.perf_counter() - middle)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default="data",
        help="folder of the corpora (%(default)s)",
    )
    parser.add_argument("--every", type=int, default=1, help="compare only every N-th line")
    arguments = parser.parse_args()
    files = sorted(arguments.data.glob("*/*.gz"))
    if not files:
        parser.error(f"--data {arguments.data}: expected folders of .gz files, found none")
    print(
        "| file | lines | same tokens | same text | tokenize, s (sacremoses) | detokenize, s"
        " (sacremoses) |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    total = collections.Counter()
    differences = []
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\n") for line in file][:: arguments.every]
        language = path.name.split(".")[-2]
        our_tokens, our_texts, our_time = ours(lines, language)
        their_tokens, their_texts, their_time = theirs(lines, language)
        same = collections.Counter(lines=len(lines))
        for step, our, their in (
            ("tokens", our_tokens, their_tokens),
            ("text", our_texts, their_texts),
        ):
            different = [row for row in zip(lines, our, their) if row[1] != row[2]]
            same[step] = len(lines) - len(different)
            differences += [(step, *row) for row in different[:2]]
        total += same
        seconds = " | ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(our_time, their_time))
        print(
            f"| {path.parent.name}/{path.name} | {same['lines']:,} | {same['tokens']:,} |"
            f" {same['text']:,} | {seconds} |",
            flush=True,
        )
    print(f"| all | {total['lines']:,} | {total['tokens']:,} | {total['text']:,} | | |")
    for step in ("tokens", "text"):
        print(f"\nsame {step}: {100 * total[step] / total['lines']:.4f} % of lines")
    for row in differences:
        print("    " + " | ".join(map(repr, row)))


if __name__ == "__main__":
    main()
