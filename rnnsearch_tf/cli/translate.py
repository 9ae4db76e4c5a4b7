"""Translate text: standard input or the named files, one sentence a line.

Each line of input, also an empty one, gives exactly one line of output; with --n-best N, the N
lines of its n-best list. Input is translated as soon as it arrives.

RUN may also be an export, DIR/N, or DIR for its highest version. The search of an export is fixed.

Output:
  the translation; --alignment adds links after a tab
  --n-best N   Moses n-best list: id ||| text ||| LogProbability= … Length= … ||| score; --alignment
               adds links as a fifth field
  --json       one object a line: text, score, log_probability, tokens, finished, source_tokens,
               alignment with --alignment, and nbest with --n-best

Scores are natural logarithms; higher is better. log_probability is that of the whole translation,
the end symbol included, not length-normalized. Hypotheses are ranked by score = log_probability /
length^A, where A is search.length_penalty: it is length-normalized unless A is 0. finished is false
for a translation that was cut at search.maximum_length_ratio.

Probabilities, by --probabilities, are the model's own: for a token exp(log p), for the sentence the
geometric mean over its tokens, the end symbol included.
text: two more columns, after tabs, the second with a number for each token; json: `probability` and
`token_probabilities`.

Paragraphs: with --split-sentences, a line may have several sentences. They are translated one by
one, and give one line again. text: the sentences joined; json: `text`, and `sentences`, a list
with an object for each as above: scores, alignments and probabilities are those of a sentence.

Alignments: links are Pharaoh links, source-target from 0, without the end symbols; every target
word is linked to the source word with the highest attention. Words are tokens, or, if tokens are
pieces, the words that they form. In JSON, alignment is the attention matrix, a row for each target
token, a column for each source token, the end symbols last.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.files.writing import open_output
from rnnsearch_tf.text.sentences import check_splitting, join_sentences, split_sentences

if TYPE_CHECKING:
    from rnnsearch_tf.translation.results import Hypothesis, Translation


def arguments(parser: ArgumentParser) -> None:
    shared.add_model(parser)
    shared.add_beam_size(parser)
    shared.add_number(
        parser, "--n-best", "hypotheses for each sentence, at most the beam size", default=1
    )
    shared.add_switch(parser, "--json", "write JSON, see above")
    shared.add_switch(parser, "--alignment", "also write alignments")
    shared.add_switch(
        parser, "--probabilities", "also write the probability of the sentence and of each token"
    )
    shared.add_switch(
        parser,
        "--replace-unknown",
        "replace each unknown word by the source word with the highest attention",
    )
    shared.add_switch(
        parser, "--split-sentences", "cut each line into sentences, and translate these"
    )
    shared.add_output(parser)
    shared.add_files(parser, "text to translate")


def run(arguments: Namespace) -> None:
    form = "json" if arguments.json else "nbest" if arguments.n_best > 1 else "text"
    _check(arguments, form)
    search = {"nbest": arguments.n_best}
    search |= {"beam_size": arguments.beam_size} if arguments.beam_size else {}
    search |= {"replace_unknown": True} if arguments.replace_unknown else {}
    check_inputs(arguments.files)
    with open_output(arguments.output) as write:
        if sys.stdin.isatty() and arguments.files == ["-"]:
            print(
                f"loading {' and '.join(arguments.model)}; then type a sentence and press Enter;"
                " Ctrl-D ends",
                file=sys.stderr,
            )
        translator = shared.load_translator(arguments)
        if arguments.alignment:
            translator.require_attention("--alignment")
        languages = translator.config.source.language, translator.config.target.language
        if arguments.split_sentences:
            check_splitting(languages[0])
        lines_of = _Lines(translator, arguments, form)
        translator.translate([], **search)  # refuses a wrong option before it reads any text
        search_config = {name: value for name, value in search.items() if name != "nbest"}
        size = translator.search_config(**search_config).batch_size
        done = 0
        with shared.line_progress("translating", arguments.output) as bar:
            for texts in shared.input_batches(arguments.files, size):
                if arguments.split_sentences:
                    cut = [split_sentences(text, languages[0]) for text in texts]
                else:
                    cut = [[text] for text in texts]
                sentences = [sentence for line in cut for sentence in line]
                try:
                    translations = translator.translate(sentences, **search)
                except UserError as error:
                    lines = f"lines {done + 1} to {done + len(texts)}"
                    raise type(error)(f"{lines}: {error}") from None
                lines = lines_of(translations)
                if arguments.split_sentences:
                    lines = _paragraphs(cut, translations, lines, form, languages[1])
                write(lines)
                done += len(texts)
                bar.update(len(texts))


def _check(arguments, form):
    """Refuse combinations that have no output, before the model is loaded."""
    if form == "nbest" and arguments.probabilities:
        raise UsageError("--probabilities: expected no n-best list with it; add --json")
    if arguments.split_sentences and form == "nbest":
        raise UsageError(
            "--split-sentences: expected no --n-best with it, whose lists cannot be joined"
        )
    if arguments.split_sentences and form == "text":
        for flag in ("alignment", "probabilities"):
            if getattr(arguments, flag):
                raise UsageError(
                    f"--split-sentences: expected --json with it and --{flag}, got text; JSON has"
                    " them for each sentence"
                )


class _Lines:
    """Turns translations into lines of output, one a sentence, or one a hypothesis of a list."""

    def __init__(self, translator: Any, arguments: Namespace, form: str) -> None:
        self.translator = translator
        self.arguments = arguments
        self.form = form
        self.number = 0  # of the next sentence

    def __call__(self, translations: Sequence[Translation]) -> Iterator[str]:
        for translation in translations:
            yield from self._lines(translation)
            self.number += 1

    def _lines(self, translation: Translation) -> Iterator[str]:
        source = translation.source_tokens
        if self.form == "nbest":
            for hypothesis in translation.nbest:
                yield self._moses_line(hypothesis, source)
            return
        if self.form == "text":
            columns = [translation.text]
            columns += [self._links(translation, source)] if self.arguments.alignment else []
            if self.arguments.probabilities:
                tokens = " ".join(f"{p:.3f}" for _, p in _token_probabilities(translation))
                columns += [f"{translation.probability:.3f}", tokens]
            yield "\t".join(columns)
            return
        fields = self._fields(translation) | {"source_tokens": source}
        if self.arguments.n_best > 1:
            fields["nbest"] = [self._fields(hypothesis) for hypothesis in translation.nbest]
        if self.arguments.probabilities:
            tokens = [[token, round(p, 4)] for token, p in _token_probabilities(translation)]
            fields["probability"] = round(translation.probability, 4)
            fields["token_probabilities"] = tokens
        yield json.dumps(fields, ensure_ascii=False)

    def _fields(self, hypothesis: Hypothesis) -> dict[str, Any]:
        names = ("text", "score", "log_probability", "tokens", "finished")
        fields = {name: getattr(hypothesis, name) for name in names}
        if self.arguments.alignment:
            from rnnsearch_tf.alignment.links import as_lists

            fields["alignment"] = as_lists(hypothesis.alignment)
        return fields

    def _links(self, hypothesis: Hypothesis, source: list[str]) -> str:
        from rnnsearch_tf.alignment.links import word_links
        from rnnsearch_tf.alignment.pharaoh import as_pharaoh

        pieces = self.translator.has_pieces
        return as_pharaoh(word_links(hypothesis.alignment, source, hypothesis.tokens, pieces))

    def _moses_line(self, hypothesis: Hypothesis, source: list[str]) -> str:
        text = hypothesis.text.replace("|||", "| | |")  # the separator may not occur in a field
        fields = [
            str(self.number),
            text,
            f"LogProbability= {hypothesis.log_probability:.6f} Length= {len(hypothesis.tokens)}",
            f"{hypothesis.score:.6f}",
        ]
        fields += [self._links(hypothesis, source)] if self.arguments.alignment else []
        return " ||| ".join(fields)


def _token_probabilities(translation: Translation) -> list[tuple[str, float]]:
    """(token, its probability) of each token."""
    import numpy as np

    return list(zip(translation.tokens, np.exp(translation.token_log_probabilities).tolist()))


def _paragraphs(cut, translations, lines, form, language):
    """Yield the output line of each paragraph, from the translation and the line of each sentence;
    `cut` has the sentences of each paragraph.
    """
    pairs = iter(zip(translations, lines))
    for sentences in cut:
        done = [next(pairs) for _ in sentences]
        text = join_sentences((translation.text for translation, _ in done), language)
        if form == "json":
            objects = ", ".join(line for _, line in done)
            text = f'{{"text": {json.dumps(text, ensure_ascii=False)}, "sentences": [{objects}]}}'
        yield text
