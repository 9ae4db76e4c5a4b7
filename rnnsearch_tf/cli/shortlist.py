"""Make a shortlist: the likely translations of every source word, learned from parallel text (IBM
Model 1).

Each line has a word pair, `source-word target-word probability`, ordered by source word, likeliest
first. Words are those of the model's vocabularies; the lines of </s> apply to every sentence. Use
the shortlist with `translate --shortlist` and `evaluate --shortlist`; the latter reports what it
costs in BLEU.

Pairs longer than the limits of the model's training are left out. Memory grows with the sum, over
all pairs, of the product of the two lengths; learning stops at about 4 GB.
"""

import itertools
import logging
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.files.reading import check_pairs, count_lines, read_pairs
from rnnsearch_tf.files.writing import Output, check_output
from rnnsearch_tf.runtime.progress import announced, progress
from rnnsearch_tf.runs.folder import Run

log = logging.getLogger("rnnsearch_tf")

LEAST = 1e-4
"""Smallest probability of a word pair in the shortlist."""

MOST_CELLS = 40_000_000
"""Limit of source words times target words, summed over the pairs; each takes about 100 bytes."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model", required=True, metavar="RUN", help="folder that `rnnsearch train` wrote"
    )
    flags.add_whole_number(
        parser, "--translations", "maximum number of translations of a source word", default=50
    )
    flags.add_whole_number(
        parser,
        "--pairs",
        "number of sentence pairs to learn from, the first ones of the files; 50,000 pairs of"
        " 25 words take about 3 GB of memory",
        default=50_000,
    )
    flags.add_whole_number(
        parser,
        "--maximum-length",
        "skip pairs with more tokens on a side (default: the limits of the model's training)",
    )
    flags.add_whole_number(
        parser, "--iterations", "iterations of expectation maximization", default=5
    )
    flags.add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="training text, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="its translation, as many lines")


def run(arguments: Namespace) -> None:
    longest = arguments.maximum_length
    check_pairs(arguments.source, arguments.target)
    check_output(arguments.output, [arguments.source, arguments.target])
    run = Run.open(arguments.model)
    import_tensorflow()
    from rnnsearch_tf.config import saved_config
    from rnnsearch_tf.alignment.word_translations import translation_probabilities
    from rnnsearch_tf.text.pipeline import load_texts

    config = saved_config(run.config)
    texts = load_texts(run, config)
    limits = (
        longest or config.data.maximum_source_length,
        longest or config.data.maximum_target_length,
    )
    lines = count_lines([arguments.source])
    batches = read_pairs(arguments.source, arguments.target, 1024)
    pairs = (pair for sides in batches for pair in zip(*sides))
    read = progress(
        itertools.islice(pairs, arguments.pairs),
        doing="reading the pairs",
        total=lines and min(lines, arguments.pairs),
        unit="pairs",
    )
    text = _bounded(_ids(read, texts), limits)
    with announced("learning word translations"):
        found = translation_probabilities(text, texts[1].vocabulary.size, arguments.iterations)
    if not found[0].size:
        raise UserError(
            f"{arguments.source}: expected sentence pairs of at most {limits[0]} source and"
            f" {limits[1]} target tokens to learn from, found none; give other text, or a larger"
            " --maximum-length"
        )
    source_words, target_words = (text.vocabulary.tokens for text in texts)
    with Output(arguments.output) as output:
        output.write(_lines(zip(*found), source_words, target_words, arguments.translations))
    if arguments.output:
        given = (
            f"--model {shlex.quote(arguments.model)} --shortlist {shlex.quote(arguments.output)}"
        )
        print(
            f"Next: rnnsearch translate {given} < TEXT; what it costs in BLEU: rnnsearch evaluate"
            f" {given} --source F --reference F",
            file=sys.stderr,
        )


def _ids(pairs, texts):
    """Yield (source ids with the end symbol, which is the empty word; target ids without it)."""
    while batch := list(itertools.islice(pairs, 1024)):
        sources, targets = (
            text.encode(list(lines)).to_list() for text, lines in zip(texts, zip(*batch))
        )
        yield from zip(sources, (target[:-1] for target in targets))


def _bounded(pairs, limits):
    """Yield the pairs within the length limits while memory allows; warn about those left out."""
    read = long = cells = 0
    for source, target in pairs:
        read += 1
        if len(source) - 1 > limits[0] or len(target) > limits[1]:
            long += 1
            continue
        cells += len(source) * len(target)
        if cells > MOST_CELLS:
            log.warning(
                "warning: learned from the first %d pairs; more would take over %.1f GB of memory"
                " (--pairs, --maximum-length)",
                read - 1,
                MOST_CELLS * 100 / 1e9,
            )
            break
        yield source, target
    if long:
        log.warning(
            "warning: %d of %d pairs are longer than %d source or %d target tokens and were"
            " left out",
            long,
            read,
            *limits,
        )


def _lines(found, source_words, target_words, translations):
    for source, group in itertools.groupby(found, key=lambda entry: entry[0]):
        for _, target, probability in itertools.islice(group, translations):
            if probability >= LEAST:
                yield f"{source_words[source]} {target_words[target]} {probability:.6f}"
