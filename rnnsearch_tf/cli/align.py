"""Align sentence pairs: where the model looks in the source while it is made to write the target.

One line a pair: Pharaoh links `0-0 1-2`, source-target, from 0, the end symbols
left out; every target word is linked to its most attended source word.

What is numbered is tokens, or where the model has SentencePiece the words that spaces
separate: the attention of a word is the sum over its pieces on the source side, the mean
on the target side. --pieces links the pieces. With --tokenized the lines are Moses tokens,
and these are what is numbered, as `aer` and Moses count them; a word with @-@ in it is linked by
each of its tokens.

With --reverse-model, a model of the other direction, the links of both are made one set by
--symmetrize: grow-diag-final-and as Moses defines it, the links of both (intersection), or of
either (union).

--lexicon gives no links but what each source word is linked to most often, at least twice, over all
pairs: lines `source-word target-word` for `translate --replace-unknown --lexicon`. Learn it from
the training text.

--soft gives one JSON object a line instead: source_tokens, target_tokens (the end symbol
last in both; pieces under SentencePiece), alignment, one row a target token, and entropy,
for each target token how spread its attention is, in nats.
"""

import itertools
import json

from rnnsearch_tf.cli.links import Links, add_pieces
from rnnsearch_tf.cli.shared import add_model, add_output, load_translator
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.alignment.symmetrization import METHODS, check_same_words
from rnnsearch_tf.files.reading import check_pairs, read_pairs
from rnnsearch_tf.files.writing import Output, check_output
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.escapes import joined_words


def arguments(parser):
    add_model(parser)
    parser.add_argument("--soft", action="store_true", help="the attention weights, as JSON")
    parser.add_argument(
        "--lexicon", action="store_true", help="a lexicon of words in place of links"
    )
    add_pieces(parser)
    parser.add_argument(
        "--tokenized",
        action="store_true",
        help="the lines are Moses tokens; without it they are tokenized as for translating",
    )
    parser.add_argument(
        "--reverse-model",
        metavar="RUN",
        help="a model that translates the target into the source: the links of both together",
    )
    parser.add_argument(
        "--symmetrize",
        choices=METHODS,
        default=None,
        help=f"how both are put together (default: {next(iter(METHODS))})",
    )
    add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="source sentences, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def run(arguments):
    if arguments.soft and arguments.pieces:
        raise UsageError(
            "--pieces: has no effect with --soft, whose tokens are pieces already; leave one out"
        )
    if arguments.symmetrize and not arguments.reverse_model:
        raise UsageError(
            "--symmetrize: expected --reverse-model RUN beside it, got none; name a model of the"
            " other direction"
        )
    for flag in ("soft", "pieces"):
        if arguments.reverse_model and getattr(arguments, flag):
            raise UsageError(
                f"--{flag}: expected no --reverse-model beside it, as it is of one model; leave"
                " one out"
            )
    for flag in ("soft", "pieces", "reverse_model"):
        if arguments.lexicon and getattr(arguments, flag):
            raise UsageError(
                f"--{flag.replace('_', '-')}: has no effect with --lexicon, which is of one model's"
                " words; leave one out"
            )
    check_pairs(arguments.source, arguments.target)
    check_output(arguments.output, [arguments.source, arguments.target])
    translator = load_translator(arguments)
    translator.require_attention("align")
    if arguments.lexicon:
        return _write_lexicon(arguments, translator)
    from rnnsearch_tf.alignment.links import as_pharaoh

    if arguments.reverse_model:
        links = _both(arguments, translator)
    else:
        of_one = Links(translator, arguments.pieces)
        links = lambda lines: _links(translator, of_one, lines, arguments.tokenized)  # noqa: E731
    pairs = read_pairs(arguments.source, arguments.target, translator.config.search.batch_size)
    with Output(arguments.output, [arguments.source, arguments.target]) as output:
        for lines in pairs:
            if arguments.soft:
                output.write(
                    map(_soft, translator.score_targets(*lines, tokenized=arguments.tokenized))
                )
            else:
                output.write(map(as_pharaoh, links(lines)))


def _write_lexicon(arguments, translator):
    """Lines `source-word target-word`, by source word."""
    from rnnsearch_tf.alignment.links import links
    from rnnsearch_tf.alignment.lexicon import lexicon

    if "sentencepiece" in (
        translator.config.source.tokenization,
        translator.config.target.tokenization,
    ):
        raise UsageError(
            "--lexicon: expected a model of words, got one of subword pieces, which knows every"
            " word; leave it out"
        )
    read = read_pairs(arguments.source, arguments.target, translator.config.search.batch_size)
    pairs = itertools.chain.from_iterable(
        translator.score_targets(*lines, tokenized=arguments.tokenized) for lines in read
    )
    found = lexicon(
        (links(pair.alignment), pair.source_tokens, pair.target_tokens) for pair in pairs
    )
    with Output(arguments.output, [arguments.source, arguments.target]) as output:
        output.write(map(" ".join, found.items()))


def _links(translator, links, lines, tokenized):
    """The links of each pair of (sources, targets)."""
    pairs = translator.score_targets(*lines, tokenized=tokenized)
    words = list(_words(translator, lines)) if tokenized else [(None, None)] * len(pairs)
    found = (links(p.alignment, p.source_tokens, p.target_tokens, w) for p, w in zip(pairs, words))
    return map(_of_tokens, found, words, zip(*lines)) if tokenized else found


def _of_tokens(links, words, lines) -> list:
    """The links of words as those of the tokens that the lines have: where ``@-@`` has made one
    word of three tokens, of each of them.
    """
    tokens = [_tokens_of_words(line.split(), side) for line, side in zip(lines, words)]
    return sorted(
        (j, i) for source, target in links for j in tokens[0][source] for i in tokens[1][target]
    )


def _tokens_of_words(tokens, words) -> list:
    """For each word the positions of its tokens."""
    places = [[] for _ in words]
    for position, word in enumerate(
        range(len(tokens)) if len(tokens) == len(words) else joined_words(tokens)
    ):
        places[word].append(position)
    return places


def _both(arguments, translator):
    """A function of (sources, targets) that gives the links of two models put together, of each
    pair.
    """
    from rnnsearch_tf.translation import Translator

    reverse = Translator.load([Run.open(arguments.reverse_model)])
    reverse.require_attention("align")
    check_same_words(translator, reverse)
    together = METHODS[arguments.symmetrize or next(iter(METHODS))]
    of_one = [Links(model) for model in (translator, reverse)]

    def links(lines):
        own = _links(translator, of_one[0], lines, arguments.tokenized)
        other = _links(reverse, of_one[1], lines[::-1], arguments.tokenized)
        return (
            sorted(together(set(links), {(j, i) for i, j in turned}))
            for links, turned in zip(own, other)
        )

    return links


def _words(translator, lines):
    """(source words, target words) of each pair, as the model's text handling reads them."""
    from rnnsearch_tf.text.pipeline import strings

    texts = translator.source_text, translator.target_text
    return zip(*(strings(text.words(list(side))) for text, side in zip(texts, lines)))


def _soft(scored) -> str:
    from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
    from rnnsearch_tf.alignment.links import as_lists, entropies

    end = [SPECIAL_TOKENS[END_ID]]
    fields = {
        "source_tokens": scored.source_tokens + end,
        "target_tokens": scored.target_tokens + end,
        "alignment": as_lists(scored.alignment, digits=6),
        "entropy": [round(float(value), 6) for value in entropies(scored.alignment)],
    }
    return json.dumps(fields, ensure_ascii=False)
