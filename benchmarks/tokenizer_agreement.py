"""How often our tokens, and our text of those tokens, are those of sacremoses, on real text.

    python benchmarks/tokenizer_agreement.py [--data FOLDER]

Every line of every FOLDER/*/*.LANGUAGE.gz is tokenized and detokenized by both. Below the table are
differences, two of each file at most.
"""

import functools
import gzip
import pathlib
import time

import sacremoses
import tensorflow as tf

import measuring
from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.text.pipeline import build_text


@functools.cache
def compiled(language):
    """Text.tokenize and Text.detokenize as compiled functions."""
    text = build_text(TextConfig(language=language), ["any"])
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
    parser = measuring.plain_parser(__doc__)
    parser.add_argument(
        "--data", type=pathlib.Path, default="data", help="folder of the corpora (%(default)s)"
    )
    arguments = parser.parse_args()
    paths = sorted(arguments.data.glob("*/*.gz"))
    if not paths:
        parser.error(f"--data {arguments.data}: expected */*.gz, found none")
    differences = []
    heads = ["file", "lines", "same tokens", "same text"]
    heads += ["tokenize, s (sacremoses)", "detokenize, s (sacremoses)"]
    with measuring.printed(heads) as rows:
        for path in paths:
            measuring.say(path)
            with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
                lines = [line.rstrip("\n") for line in file]
            language = path.name.split(".")[-2]
            *our, our_seconds = ours(lines, language)
            *their, their_seconds = theirs(lines, language)
            row = [f"{path.parent.name}/{path.name}", len(lines)]
            for mine, other in zip(our, their):  # tokens, texts
                different = [each for each in zip(lines, mine, other) if each[1] != each[2]]
                row.append(len(lines) - len(different))
                differences += different[:2]
            seconds = [f"{a:.2f} ({b:.2f})" for a, b in zip(our_seconds, their_seconds)]
            rows.append([*row, *seconds])
        rows.append(["all", *(sum(row[k] for row in rows) for k in (1, 2, 3)), "", ""])
    for difference in differences:
        print("    " + " | ".join(map(repr, difference)))


if __name__ == "__main__":
    main()
