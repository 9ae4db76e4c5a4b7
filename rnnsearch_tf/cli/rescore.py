"""Add the model's log-probability to a Moses n-best list, as a named feature.

A line is `id ||| text ||| features ||| score`, possibly with more fields; the id is the line number
of the source, from 0. Each line gets `NAME= value` after its features: the natural logarithm of
p(text | source), the end symbol included, not length-normalized. Other fields stay the same, byte
for byte.

--weight W changes the score to (1 − W) · score + W · value and sorts each sentence's list by it,
best first; 0.5 is the even average of Sutskever et al. 2014.

The list is read sentence by sentence, so it may be of any length; from standard input, the list of
a sentence is written once that of the next one begins. A list in a file is checked before the model
is loaded.
"""

import os
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import load_translator
from rnnsearch_tf.files.reading import check_inputs, read_all
from rnnsearch_tf.files.writing import whole_file
from rnnsearch_tf.runtime.progress import progress


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    parser.add_argument(
        "--source", required=True, metavar="SOURCE", help="source sentences, plain or .gz"
    )
    parser.add_argument(
        "--feature",
        metavar="NAME",
        default="RNN",
        help="name of the new feature (default: %(default)s)",
    )
    parser.add_argument(
        "--weight",
        type=flags.number("a number from 0 to 1", lambda share: 0 <= share <= 1),
        metavar="W",
        help="interpolate the score with the feature, weight 0 to 1, and sort",
    )
    flags.add_switch(
        parser,
        "--tokenized",
        "source and list are Moses tokens (default: tokenize them as for translating)",
    )
    flags.add_score_batch_size(parser)
    parser.add_argument(
        "--output",
        metavar="F",
        help="write the list to this file (.gz: compressed) when it is complete",
    )
    parser.add_argument(
        "nbest", metavar="NBEST", help="n-best list, plain or .gz; -: standard input"
    )


def run(arguments: Namespace) -> None:
    from rnnsearch_tf.extras.moses.nbest import blocks, check_feature_name, read_nbest, rescore

    name = check_feature_name(arguments.feature)
    check_inputs([arguments.nbest])
    sources = read_all(arguments.source)
    if os.path.isfile(arguments.nbest):
        for entries in read_nbest(arguments.nbest, len(sources)):
            rescore(entries, [0.0] * len(entries), name)
    translator = load_translator(arguments)
    with (
        whole_file(arguments.output) as output,
        progress(doing="rescoring", total=len(sources)) as bar,
    ):
        for block in blocks(arguments.nbest, len(sources)):
            pairs = list(
                dict.fromkeys(
                    (entry.sentence, entry.text) for entries in block for entry in entries
                )
            )
            texts = [sources[sentence] for sentence, _ in pairs], [text for _, text in pairs]
            # Score each text once: lists have many derivations of the same text.
            scores = translator.score(*texts, arguments.batch_size, arguments.tokenized)
            values = dict(zip(pairs, scores, strict=True))
            for entries in block:
                new_scores = [values[entry.sentence, entry.text] for entry in entries]
                output.writelines(
                    entry.line for entry in rescore(entries, new_scores, name, arguments.weight)
                )
            output.flush()
            bar.update(len(block))
