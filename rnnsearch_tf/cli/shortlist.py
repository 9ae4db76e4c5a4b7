"""Make a shortlist: for every source word its likely translations, learned from parallel text (IBM Model 1).

One line a word pair, `source-word target-word probability`, by source word, likeliest first;
words are those of the model's vocabularies, and the lines of </s> hold for any sentence. What
`translate --shortlist` and `evaluate --shortlist` read; the latter says what it costs in BLEU.
"""

import itertools

from rnnsearch_tf.cli.lines import Output, read_pairs
from rnnsearch_tf.cli.quiet import import_tensorflow
from rnnsearch_tf.cli.shared import add_output, whole_number
from rnnsearch_tf.run_folder import check_run

LEAST = 1e-4
"""Word pairs less probable are left out."""


def arguments(parser):
    parser.add_argument("--model", required=True, metavar="RUN", help="folder that `rnnsearch train` wrote")
    parser.add_argument("--translations", metavar="N", default="50", help="most of them for a source word (default: %(default)s)")
    parser.add_argument(
        "--pairs", metavar="N", default="50000",
        help="sentence pairs to learn from, the first of the files; 50,000 of 25 words take some 3 GB of memory (default: %(default)s)",
    )
    parser.add_argument("--iterations", metavar="N", default="5", help="of expectation maximization (default: %(default)s)")
    add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="training text, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="its translation, as many lines")


def run(arguments):
    translations, pairs, iterations = (
        whole_number(getattr(arguments, name), f"--{name}", minimum=1) for name in ("translations", "pairs", "iterations")
    )
    run = check_run(arguments.model)
    import_tensorflow()
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.smt.word_translations import translation_probabilities
    from rnnsearch_tf.text.pipeline import load_text

    config = load_config(run / "config.yaml")
    texts = [load_text(run, side, getattr(config, side)) for side in ("source", "target")]
    text = _ids(itertools.islice(_pairs(arguments), pairs), texts)
    found = zip(*translation_probabilities(text, texts[1].vocabulary.size, iterations))
    with Output(arguments.output) as output:
        output.write(_lines(found, *(text.vocabulary.tokens for text in texts), translations))


def _pairs(arguments):
    for sources, targets in read_pairs(arguments.source, arguments.target, 1024):
        yield from zip(sources, targets)


def _ids(pairs, texts):
    """(source ids with the end symbol, the model's empty word; target ids without it) of each pair."""
    while batch := list(itertools.islice(pairs, 1024)):
        sources, targets = (text.encode(list(lines)).to_list() for text, lines in zip(texts, zip(*batch)))
        yield from zip(sources, (target[:-1] for target in targets))


def _lines(found, source_words, target_words, translations):
    for source, group in itertools.groupby(found, key=lambda entry: entry[0]):
        for _, target, probability in itertools.islice(group, translations):
            if probability >= LEAST:
                yield f"{source_words[source]} {target_words[target]} {probability:.6f}"
