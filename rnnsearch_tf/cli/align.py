"""Align the words of sentence pairs, by the model's attention while it is fed the given target.

Each pair gives one line of Pharaoh links `0-0 1-2`, source-target, from 0, without the end symbols.
Every target word is linked to the source word with the highest attention.

Links number tokens, or, for a model with pieces, the words that they form: the attention of
a word is the sum over its source pieces and the mean over its target pieces. --pieces links the
pieces. With --tokenized the input lines are Moses tokens, and links number these tokens, as `aer`
and Moses do; a word with @-@ in it is linked by each of its tokens.

--reverse-model adds a model of the other direction. --symmetrize says how the links of the two are
combined: grow-diag-final-and as Moses defines it, intersection or union.

--lexicon writes a lexicon in place of links: lines `source-word target-word`, for each source word
the target word that it is linked to most often, at least twice, over all pairs. It is for
`translate --replace-unknown --lexicon`. Make it from the training text.

--soft writes one JSON object for each line: source_tokens and target_tokens (with the end symbol
last; pieces under SentencePiece), alignment with a row for each target token, and entropy, the
entropy of each row in nats.
"""

import functools
import itertools
import json
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.links import Links, add_pieces
from rnnsearch_tf.cli.shared import load_translator
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.alignment.symmetrization import METHODS, check_same_words
from rnnsearch_tf.files.reading import check_pairs, read_pairs
from rnnsearch_tf.files.writing import Output, check_output
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.escapes import joined_words


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_switch(parser, "--soft", "write attention weights, as JSON")
    flags.add_switch(parser, "--lexicon", "write a lexicon of words in place of links")
    add_pieces(parser)
    flags.add_switch(
        parser,
        "--tokenized",
        "the lines are Moses tokens (default: tokenize them as for translating)",
    )
    parser.add_argument(
        "--reverse-model",
        metavar="RUN",
        help="a model that translates the target into the source; combines the links of both",
    )
    parser.add_argument(
        "--symmetrize",
        choices=METHODS,
        default=None,
        help=f"how the links of both are combined (default: {next(iter(METHODS))})",
    )
    flags.add_output(parser)
    parser.add_argument("source", metavar="SOURCE", help="source sentences, plain or .gz")
    parser.add_argument("target", metavar="TARGET", help="target sentences, as many lines")


def run(arguments: Namespace) -> None:
    if arguments.soft and arguments.pieces:
        raise UsageError(
            "--pieces: has no effect with --soft, whose tokens are pieces already; leave one out"
        )
    if arguments.symmetrize and not arguments.reverse_model:
        raise UsageError(
            "--symmetrize: expected --reverse-model RUN with it, got none; name a model of the"
            " other direction"
        )
    for flag in ("soft", "pieces"):
        if arguments.reverse_model and getattr(arguments, flag):
            raise UsageError(
                f"--{flag}: expected no --reverse-model with it, as it uses one model; leave"
                " one out"
            )
    for flag in ("soft", "pieces", "reverse_model"):
        if arguments.lexicon and getattr(arguments, flag):
            raise UsageError(
                f"--{flag.replace('_', '-')}: has no effect with --lexicon, which uses the words of"
                " one model; leave one out"
            )
    check_pairs(arguments.source, arguments.target)
    check_output(arguments.output, [arguments.source, arguments.target])
    translator = load_translator(arguments)
    translator.require_attention("align")
    if arguments.lexicon:
        return _write_lexicon(arguments, translator)
    from rnnsearch_tf.alignment.pharaoh import as_pharaoh

    if arguments.reverse_model:
        links = _symmetrized(arguments, translator)
    else:
        links = functools.partial(
            _links, translator, Links(translator, arguments.pieces), tokenized=arguments.tokenized
        )
    batches = read_pairs(arguments.source, arguments.target, translator.config.search.batch_size)
    with Output(arguments.output, [arguments.source, arguments.target]) as output:
        for lines in batches:
            if arguments.soft:
                pairs = translator.score_targets(*lines, tokenized=arguments.tokenized)
                output.write(map(_soft, pairs))
            else:
                output.write(map(as_pharaoh, links(lines)))


def _write_lexicon(arguments, translator):
    """Lines `source-word target-word`, by source word."""
    from rnnsearch_tf.alignment.links import links
    from rnnsearch_tf.alignment.lexicon import lexicon

    sides = translator.config.source, translator.config.target
    if any(side.tokenization == "sentencepiece" or side.bpe_codes for side in sides):
        raise UsageError(
            "--lexicon: expected a model of words, got one of subword pieces, which has no"
            " unknown words; leave it out"
        )
    read = read_pairs(arguments.source, arguments.target, translator.config.search.batch_size)
    pairs = itertools.chain.from_iterable(
        translator.score_targets(*lines, tokenized=arguments.tokenized) for lines in read
    )
    entries = lexicon(
        (links(pair.alignment), pair.source_tokens, pair.target_tokens) for pair in pairs
    )
    with Output(arguments.output, [arguments.source, arguments.target]) as output:
        output.write(map(" ".join, entries.items()))


def _links(translator, links, lines, tokenized):
    """The links of each pair of (sources, targets)."""
    pairs = translator.score_targets(*lines, tokenized=tokenized)
    words = list(_words(translator, lines)) if tokenized else [(None, None)] * len(pairs)
    found = (links(p.alignment, p.source_tokens, p.target_tokens, w) for p, w in zip(pairs, words))
    if not tokenized:
        return found
    texts = translator.source_text, translator.target_text
    return map(functools.partial(_of_tokens, texts), found, words, zip(*lines))


def _of_tokens(texts, links, words, lines) -> list:
    """Links of words as links of the lines' tokens: a word with ``@-@`` is three tokens, which all
    get its links.
    """
    tokens = [_tokens_of_words(line.split(), *side) for line, side in zip(lines, zip(words, texts))]
    return sorted(
        (j, i) for source, target in links for j in tokens[0][source] for i in tokens[1][target]
    )


def _tokens_of_words(tokens, words, text) -> list:
    """The positions of each word's tokens; a token of which normalization leaves nothing is of no
    word.
    """
    from rnnsearch_tf.text.pipeline import strings

    positions = list(range(len(tokens)))
    numbers = _word_numbers(tokens, words)
    if len(set(numbers)) != len(words):
        positions = [k for k, row in enumerate(strings(text.words(tokens))) for _ in row]
        numbers = _word_numbers([tokens[k] for k in positions], words)
    places: list[list[int]] = [[] for _ in words]
    for position, word in zip(positions, numbers):
        places[word].append(position)
    return places


def _word_numbers(tokens, words) -> list:
    return list(range(len(tokens))) if len(tokens) == len(words) else joined_words(tokens)


def _symmetrized(arguments, translator):
    """A function of (sources, targets) that gives the combined links of two models."""
    from rnnsearch_tf.translation import Translator

    reverse = Translator.load([Run.open(arguments.reverse_model)])
    reverse.require_attention("align")
    check_same_words(translator, reverse)
    combine = METHODS[arguments.symmetrize or next(iter(METHODS))]
    model_links = [Links(model) for model in (translator, reverse)]

    def combined_links(lines):
        forward = _links(translator, model_links[0], lines, arguments.tokenized)
        backward = _links(reverse, model_links[1], lines[::-1], arguments.tokenized)
        return (
            sorted(combine(set(links), {(j, i) for i, j in turned}))
            for links, turned in zip(forward, backward)
        )

    return combined_links


def _words(translator, lines):
    """(source words, target words) of each pair, as the model's tokenizers split and spell them."""
    from rnnsearch_tf.text.pipeline import strings

    texts = translator.source_text, translator.target_text
    return zip(*(strings(_spelled(text, list(side))) for text, side in zip(texts, lines)))


def _spelled(text, lines):
    """The words of lines, with the characters of their pieces: a SentencePiece model may have rules
    of its own, such as … to three periods.
    """
    words = text.words(lines)
    if text.config.tokenization != "sentencepiece":
        return words
    return words.with_values(text.detokenize(text.tokenize(words.values)))


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
