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

import itertools
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any
from typing import TYPE_CHECKING

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches, line_progress, load_translator
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.about import read_about
from rnnsearch_tf.export.publishing import exported_version
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.text.sentences import check_splitting, join_sentences, split_sentences
from rnnsearch_tf.files.reading import check_inputs, count_lines
from rnnsearch_tf.files.writing import Output

if TYPE_CHECKING:
    import numpy as np

    from rnnsearch_tf.translation.results import Hypothesis, Translation


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_beam_size(parser)
    flags.add_whole_number(
        parser,
        "--n-best",
        "number of hypotheses for each sentence, at most the beam size",
        default=1,
    )
    flags.add_switch(parser, "--json", "write JSON, see above")
    flags.add_switch(parser, "--alignment", "also write alignments")
    flags.add_switch(
        parser,
        "--replace-unknown",
        "replace each unknown word by the source word with the highest attention",
    )
    flags.add_switch(
        parser, "--probabilities", "also write the probability of the sentence and of each token"
    )
    flags.add_switch(
        parser,
        "--split-sentences",
        "cut each line into sentences, translate these, and join them to one line",
    )
    flags.add_output(parser)
    flags.add_files(parser)


def run(arguments: Namespace) -> None:
    nbest = arguments.n_best
    changes = {}
    if arguments.beam_size:
        changes["beam_size"] = arguments.beam_size
    if arguments.replace_unknown:
        changes["replace_unknown"] = True
    form = "json" if arguments.json else "nbest" if nbest > 1 else "text"
    if arguments.probabilities and form == "nbest":
        raise UsageError("--probabilities: expected no n-best list with it; add --json")
    if arguments.split_sentences:
        _check_split(arguments, form)
    check_inputs(arguments.files)
    output = Output(arguments.output)
    exported = exported_version(arguments.model[0]) if len(arguments.model) == 1 else None
    if sys.stdin.isatty() and not arguments.files:  # TensorFlow alone takes seconds
        print(
            f"loading {' and '.join(arguments.model)}; then type a sentence and press Enter; Ctrl-D"
            " ends",
            file=sys.stderr,
        )
    translator = (
        _load_exported(exported, form, arguments, nbest) if exported else load_translator(arguments)
    )
    if arguments.alignment and not exported:
        translator.require_attention("--alignment")
    translator.translate([], nbest, **changes)  # refuses wrong options before it reads any text
    batch_size = translator.search_config(**changes).batch_size
    alignment = None
    if arguments.alignment:
        alignment = _soft if form == "json" else _hard(translator)
    languages = _languages(translator, exported) if arguments.split_sentences else ("", "")
    number = done = 0  # sentences, lines
    inputs = input_batches(arguments.files, batch_size)
    total = count_lines(arguments.files or ["-"])
    with (
        output,
        line_progress("translating", total, arguments.output) as bar,
    ):
        for texts in inputs:
            cut = [split_sentences(text, languages[0]) for text in texts] if languages[0] else None
            sentences = list(itertools.chain.from_iterable(cut)) if cut else texts
            try:
                translations = translator.translate(sentences, nbest, **changes)
            except UserError as error:  # it counts from the first sentence here
                raise type(error)(f"lines {done + 1} to {done + len(texts)}: {error}") from None
            done += len(texts)
            logs = itertools.repeat(None)
            if arguments.probabilities:
                logs = _token_log_probabilities(translator, exported, sentences, translations)
            written = []  # of each sentence
            for translation, of_tokens in zip(translations, logs):
                is_to_align = exported and alignment and translation.tokens
                if is_to_align and not translation.alignment.any():
                    raise UsageError(
                        f"--alignment: expected a model with attention, got {exported}, which"
                        " aligns nothing"
                    )
                written.append(formatted(translation, number, form, alignment, nbest, of_tokens))
                number += 1
            lines = itertools.chain.from_iterable(written)
            output.write(
                _paragraphs(cut, translations, lines, form, languages[1]) if cut else lines
            )
            bar.update(len(texts))


def _check_split(arguments, form):
    """Refuse what does not go with --split-sentences, before the model is loaded."""
    if form == "nbest":
        raise UsageError(
            "--split-sentences: expected no --n-best with it, whose lists cannot be joined"
        )
    if form == "text" and (arguments.alignment or arguments.probabilities):
        flag = "--alignment" if arguments.alignment else "--probabilities"
        raise UsageError(
            f"--split-sentences: expected --json with it and {flag}, got text; JSON has them"
            " for each sentence"
        )


def _languages(translator, exported):
    """The language codes of both sides of a model."""
    if exported:
        about = read_about(exported)
        languages = about["source"], about["target"]
    else:
        languages = translator.config.source.language, translator.config.target.language
    check_splitting(languages[0])
    return languages


def _paragraphs(cut, translations, lines, form, language):
    """Yield the output line of each paragraph, from the translation and the line of each sentence;
    `cut` has the sentences of each paragraph.
    """
    done = zip(translations, lines)
    for sentences in cut:
        part = list(itertools.islice(done, len(sentences)))
        text = join_sentences((translation.text for translation, _ in part), language)
        if form == "json":
            objects = ", ".join(line for _, line in part)
            text = f'{{"text": {json.dumps(text, ensure_ascii=False)}, "sentences": [{objects}]}}'
        yield text


def _token_log_probabilities(translator, exported, sentences, translations):
    """(tokens, their log-probabilities with the end symbol's) of each translation."""
    if exported:  # its search does not give them
        scored = translator.score_targets(sentences, [t.text for t in translations])
        return [(pair.target_tokens, pair.token_log_probabilities) for pair in scored]
    return [(each.tokens, each.token_log_probabilities) for each in translations]


def _load_exported(folder, form, arguments, nbest):
    """Load the exported model and check that it has the signatures that the output needs."""
    lists = nbest > 1
    if arguments.set:
        raise UsageError(
            f"--set: expected a RUN with it, got the exported model {folder}, whose options are"
            " fixed; leave it out, or export the RUN again"
        )
    if lists and arguments.alignment:
        raise UsageError(
            "--alignment: expected no n-best list with it for an exported model, which aligns its"
            " best translation only"
        )
    import_tensorflow()
    from rnnsearch_tf.export.opening import open_translator

    translator = open_translator(folder)
    if arguments.probabilities:
        translator.require("score")
    if form != "text" or arguments.alignment:
        translator.require("translate_nbest" if lists else "translate_aligned")
    translator.prefer_nbest = lists
    return translator


def formatted(
    translation: Translation,
    number: int,
    form: str,
    alignment: Callable[[Hypothesis, list[str] | None], str | list[list[float]]] | None,
    nbest: int,
    log_probabilities: tuple[list[str], np.ndarray] | None = None,
) -> list[str]:
    """The output lines of one sentence.

    Args:
        number: of the sentence, from 0.
        form: text, json or nbest.
        alignment: function of (hypothesis, source tokens) that gives links or attention weights.
        nbest: size of the n-best list.
        log_probabilities: (tokens, their log-probabilities), for --probabilities.
    """
    source = translation.source_tokens
    sentence, tokens = _probabilities(*log_probabilities) if log_probabilities else (None, [])
    if form == "nbest":
        return [
            _moses_line(number, hypothesis, source, alignment) for hypothesis in translation.nbest
        ]
    if form == "json":
        fields = _fields(translation, source, alignment) | {"source_tokens": source}
        if nbest > 1:
            fields["nbest"] = [
                _fields(hypothesis, source, alignment) for hypothesis in translation.nbest
            ]
        if sentence is not None:
            rounded = [[token, round(p, 4)] for token, p in tokens]
            fields |= {"probability": round(sentence, 4), "token_probabilities": rounded}
        return [json.dumps(fields, ensure_ascii=False)]
    columns: list[Any] = [translation.text]
    if alignment:
        columns.append(alignment(translation, source))
    if sentence is not None:
        columns += [f"{sentence:.3f}", " ".join(f"{p:.3f}" for _, p in tokens)]
    return ["\t".join(columns)]


def _probabilities(tokens, logs) -> tuple[float, list[tuple[str, float]]]:
    """The geometric mean of the probabilities, the end symbol's included, and (token, its
    probability) of each token. The empty translation of a sentence without words has probability 1.
    """
    import numpy as np

    sentence = float(np.exp(logs.mean())) if len(logs) else 1.0
    return sentence, list(zip(tokens, np.exp(logs[: len(tokens)]).tolist()))


def _fields(hypothesis, source_tokens, alignment) -> dict:
    fields = {
        "text": hypothesis.text,
        "score": hypothesis.score,
        "log_probability": hypothesis.log_probability,
        "tokens": hypothesis.tokens,
        "finished": hypothesis.finished,
    }
    return fields | ({"alignment": alignment(hypothesis, source_tokens)} if alignment else {})


def _hard(translator):
    from rnnsearch_tf.alignment.links import word_links
    from rnnsearch_tf.alignment.pharaoh import as_pharaoh

    pieces = getattr(translator, "has_pieces", None)  # an export does not tell
    return lambda hypothesis, source: as_pharaoh(
        word_links(hypothesis.alignment, source, hypothesis.tokens, pieces, hypothesis.text)
    )


def _soft(hypothesis, _):
    from rnnsearch_tf.alignment.links import as_lists

    return as_lists(hypothesis.alignment)


def _moses_line(number, hypothesis, source_tokens, alignment) -> str:
    text = hypothesis.text.replace("|||", "| | |")  # the separator may not occur in a field
    features = f"LogProbability= {hypothesis.log_probability:.6f} Length= {len(hypothesis.tokens)}"
    line = f"{number} ||| {text} ||| {features} ||| {hypothesis.score:.6f}"
    return f"{line} ||| {alignment(hypothesis, source_tokens)}" if alignment else line
