"""Translate text: standard input or the named files, one sentence a line.

Each line of input, also an empty one, gives exactly one line of output, as soon as it arrives. RUN
may also be an export, DIR/N, or DIR for its highest version; the search of an export is fixed.

Scores are natural logarithms; higher is better. log_probability, of all tokens and the end symbol,
is not length-normalized; an empty line has 0. Hypotheses are ranked by score = log_probability /
length^A, A = search.length_penalty, the end symbol counted. finished is false if it was cut.

Links are Pharaoh links, source-target, of words from 0; every target word is linked to the source
word with the highest attention. In JSON, alignment is the attention matrix: a row for each target
token, a column for each source token, the end symbols last. The probability of a sentence is the
geometric mean over its tokens, the end symbol included.
"""

from __future__ import annotations

import itertools
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.files.writing import open_output

if TYPE_CHECKING:
    from rnnsearch_tf.translation import Translator
    from rnnsearch_tf.translation.results import Hypothesis, Translation


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_beam_size(parser)
    shared.add_number(
        parser,
        "--n-best",
        "write N lines a sentence: id ||| text ||| LogProbability= … Length= … ||| score",
        default=1,
    )
    shared.add_switch(
        parser,
        "--json",
        "write an object a line: text, score, log_probability, tokens, finished, source_tokens",
    )
    shared.add_switch(parser, "--alignment", "add links: after a tab, or as the list's last field")
    shared.add_switch(parser, "--probabilities", "add those of the sentence and of each token")
    shared.add_switch(
        parser, "--replace-unknown", "replace unknown words by source words, by attention"
    )
    shared.add_switch(
        parser,
        "--split-sentences",
        "cut lines into sentences, and join their translations; in JSON, `sentences` has each",
    )
    shared.add_output(parser)
    shared.add_files(parser, "text to translate")


def run(arguments: Namespace) -> None:
    _check(arguments)
    check_inputs(arguments.files, arguments.output)
    search = {"nbest": arguments.n_best}
    search |= {"beam_size": arguments.beam_size} if arguments.beam_size else {}
    search |= {"replace_unknown": True} if arguments.replace_unknown else {}
    with open_output(arguments.output) as write:
        if arguments.files == ["-"] and sys.stdin.isatty():
            print(
                f"loading {' and '.join(arguments.model)}; then type a sentence and press Enter;"
                " Ctrl-D ends",
                file=sys.stderr,
            )
        translator = shared.load_translator(arguments)
        for flag in ("alignment", "replace_unknown"):
            if getattr(arguments, flag):
                translator.require_attention(f"--{flag.replace('_', '-')}")
        translator.translate([""], **search)  # refuses a wrong option before it reads any text
        batches = shared.input_batches(arguments.files, shared.lines_at_once(translator))
        number = 0  # of the next line
        with shared.line_progress("translating", arguments.files, arguments.output) as bar:
            for texts in batches:
                if arguments.split_sentences:
                    write(_paragraphs(translator, texts, search, arguments))
                else:
                    translations = translator.translate(texts, **search)
                    write(_lines(translations, number, translator.has_pieces, arguments))
                number += len(texts)
                bar.update(len(texts))


def _check(arguments: Namespace) -> None:
    """Refuse combinations that have no output, before the model is loaded."""
    is_list = arguments.n_best > 1 and not arguments.json
    if is_list and arguments.probabilities:
        raise UsageError("--probabilities: expected no n-best list with it; add --json")
    if is_list and arguments.split_sentences:
        raise UsageError("--split-sentences: expected no n-best list with it; add --json")
    for flag in ("alignment", "probabilities"):
        if arguments.split_sentences and not arguments.json and getattr(arguments, flag):
            raise UsageError(
                f"--{flag}: expected --json with it and --split-sentences, got text; add --json,"
                " which has them for each sentence"
            )


def _lines(
    translations: Sequence[Translation], first: int, pieces: Any, arguments: Namespace
) -> Iterator[str]:
    """Yield the lines of output; `first` is the number of the first sentence."""
    for number, translation in enumerate(translations, first):
        source = translation.source_tokens
        if arguments.json:
            yield json.dumps(_fields(translation, arguments), ensure_ascii=False)
        elif arguments.n_best > 1:
            for hypothesis in translation.nbest:
                fields = [
                    str(number),
                    hypothesis.text.replace("|||", "| | |"),  # no field has the separator
                    f"LogProbability= {hypothesis.log_probability:.6f}"
                    f" Length= {len(hypothesis.tokens) + hypothesis.finished}",
                    f"{hypothesis.score:.6f}",
                ]
                fields += [_links(hypothesis, source, pieces)] if arguments.alignment else []
                yield " ||| ".join(fields)
        else:
            columns = [translation.text]
            columns += [_links(translation, source, pieces)] if arguments.alignment else []
            if arguments.probabilities:
                tokens = " ".join(f"{p:.3f}" for _, p in _token_probabilities(translation))
                columns += [f"{translation.probability:.3f}", tokens]
            yield "\t".join(columns)


def _fields(translation: Translation, arguments: Namespace) -> dict[str, Any]:
    """A translation for JSON."""
    from rnnsearch_tf.alignment.links import as_lists

    def of_hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
        names = ("text", "score", "log_probability", "tokens", "finished")
        fields = {name: getattr(hypothesis, name) for name in names}
        if arguments.alignment:
            fields["alignment"] = as_lists(hypothesis.alignment)
        if arguments.probabilities:
            tokens = [[token, round(p, 4)] for token, p in _token_probabilities(hypothesis)]
            fields["probability"] = round(hypothesis.probability, 4)
            fields["token_probabilities"] = tokens
        return fields

    fields = of_hypothesis(translation) | {"source_tokens": translation.source_tokens}
    if arguments.n_best > 1:
        fields["nbest"] = [of_hypothesis(hypothesis) for hypothesis in translation.nbest]
    return fields


def _links(hypothesis: Hypothesis, source: list[str], pieces: Any) -> str:
    """Its Pharaoh links."""
    from rnnsearch_tf.alignment.links import word_links
    from rnnsearch_tf.alignment.pharaoh import as_pharaoh

    return as_pharaoh(word_links(hypothesis.alignment, source, hypothesis.tokens, pieces))


def _token_probabilities(hypothesis: Hypothesis) -> list[tuple[str, float]]:
    """(token, its probability) of each token."""
    import numpy as np

    return list(zip(hypothesis.tokens, np.exp(hypothesis.token_log_probabilities).tolist()))


def _paragraphs(
    translator: Translator, texts: Sequence[str], search: dict[str, Any], arguments: Namespace
) -> Iterator[str]:
    """Yield the output line of each paragraph, whose sentences are translated one by one."""
    from rnnsearch_tf.text.sentences import join_sentences, split_sentences

    config = translator.config
    paragraphs = [split_sentences(text, config.source.language) for text in texts]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    translations = iter(translator.translate(sentences, **search))
    for paragraph in paragraphs:
        parts = list(itertools.islice(translations, len(paragraph)))
        text = join_sentences((part.text for part in parts), config.target.language)
        if arguments.json:
            objects = [_fields(part, arguments) for part in parts]
            text = json.dumps({"text": text, "sentences": objects}, ensure_ascii=False)
        yield text
