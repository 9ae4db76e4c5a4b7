"""Translate text: standard input or the named files, one sentence a line.

Each line of input, also an empty one, gives exactly one line of output; with --output-type nbest,
the N lines of its n-best list. Input is translated as soon as it arrives.

RUN may also be an export, DIR/N, or DIR for its highest version. The search of an export is fixed.

Output types:
  text   the translation
  json   one object a line: text, score, log_probability, tokens, source_tokens, alignment with
         --alignment, and nbest if --n-best (default: search.nbest of the RUN) is above 1
  nbest  Moses n-best list: id ||| text ||| LogProbability= … Length= … ||| score

Scores are natural logarithms; higher is better. log_probability is that of the whole translation,
the end symbol included, not length-normalized. Hypotheses are ranked by score = log_probability /
length^A, where A is --length-penalty: it is length-normalized unless A is 0. --coverage-penalty
adds its term.

Words that must appear: --constraints F has phrases for each source line, and --term-marks takes
them from marks in the source:
    The <term translation="chambre">room</term> is too small.
The mark is removed, its words stay. Without --term-marks a line is plain text. With it, write &lt;
for < and &amp; for & if they would be read as a mark. An empty source line always has an empty
translation.

Probabilities, by --probabilities, are the model's own, of its translation as it reads it: for a
token exp(log p), for the sentence the geometric mean over its tokens, the end symbol included. text:
two more columns, after tabs, the second with a number for each token; json: `probability` and
`token_probabilities`.

Paragraphs: with --split-sentences, a line may have several sentences. They are translated one by
one, and give one line again. text: the sentences joined; json: `text`, and `sentences`, a list
with an object for each as above: scores, alignments and probabilities are those of a sentence.

Alignments:
  hard   Pharaoh links source-target from 0, without the end symbols; every target word is linked
         to the source word with the highest attention. Words are tokens, or, if tokens are
         pieces, the words that they form. text: after a tab; nbest: a fifth field; json:
         `alignment`
  soft   the attention matrix, a row for each target token, a column for each source token, the
         end symbols last. text: after a tab, as JSON; json: `alignment`
"""

from __future__ import annotations

import itertools
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import (
    combination,
    input_batches,
    line_progress,
    load_translator,
    option_value,
    search_changes,
)
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.about import read_about
from rnnsearch_tf.export.publishing import exported_version
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.text.constraints import check_lines, with_constraints, without_marks
from rnnsearch_tf.text.sentences import check_splitting, join_sentences, split_sentences
from rnnsearch_tf.files.reading import check_inputs, count_lines
from rnnsearch_tf.files.writing import Output, check_output

if TYPE_CHECKING:
    from rnnsearch_tf.translation.results import Hypothesis, ScoredPair, Translation


def arguments(parser: ArgumentParser) -> None:
    flags.add_model(parser)
    flags.add_search(parser)
    parser.add_argument(
        "--n-best",
        metavar="N",
        help="number of hypotheses for each sentence, at most the beam size",
    )
    parser.add_argument(
        "--output-type",
        choices=("text", "json", "nbest"),
        help="output type, see above (default: text, or nbest if --n-best is above 1)",
    )
    parser.add_argument(
        "--constraints",
        metavar="F",
        help=(
            "phrases that must appear in the translations: line k has those of source line k,"
            " separated by tabs; an empty line: none"
        ),
    )
    flags.add_switch(
        parser,
        "--term-marks",
        'take such phrases from marks <term translation="PHRASE">WORDS</term> in the source',
    )
    parser.add_argument("--alignment", choices=("hard", "soft"), help="also write alignments")
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
    changes = search_changes(arguments)
    if arguments.n_best is not None:
        changes["nbest"] = option_value("search.nbest", arguments.n_best, "--n-best")
    nbest = changes.get("nbest", 1)
    form = arguments.output_type or ("nbest" if nbest > 1 else "text")
    if form == "text" and nbest > 1:
        raise UsageError(
            f"--n-best {nbest}: expected --output-type json or nbest with it, got text"
        )
    if form == "nbest" and arguments.alignment == "soft":
        raise UsageError("--alignment soft: expected --output-type text or json with it, got nbest")
    if arguments.probabilities and form == "nbest":
        raise UsageError("--probabilities: expected --output-type text or json with it, got nbest")
    combination(arguments)  # an export is loaded without it
    if arguments.split_sentences:
        _check_split(arguments, form)
    phrase_lines = _phrase_lines(arguments)
    check_inputs(arguments.files)
    inputs_of = [*arguments.files, arguments.constraints, arguments.lexicon, arguments.shortlist]
    check_output(arguments.output, inputs_of)
    exported = exported_version(arguments.model[0]) if len(arguments.model) == 1 else None
    constrained = bool(arguments.constraints or arguments.term_marks)
    if sys.stdin.isatty() and not arguments.files:  # TensorFlow alone takes seconds
        print(
            f"loading {' and '.join(arguments.model)}; then type a sentence and press Enter; Ctrl-D"
            " ends",
            file=sys.stderr,
        )
    translator = (
        _load_exported(exported, form, arguments, nbest, constrained)
        if exported
        else load_translator(arguments)
    )
    if arguments.alignment and not exported:
        translator.require_attention("--alignment")
    config = translator.search_config(**changes)
    translator.translate([], **changes)  # report a bad lexicon before waiting for input
    alignment = {"hard": _hard(translator), "soft": _soft, None: None}[arguments.alignment]
    languages = _languages(translator, exported) if arguments.split_sentences else ("", "")
    number = done = 0  # sentences, lines
    inputs = _constrained(
        input_batches(arguments.files, config.batch_size), phrase_lines, arguments
    )
    total = count_lines(arguments.files or ["-"])
    with (
        Output(arguments.output, inputs_of) as output,
        line_progress("translating", total, arguments.output) as bar,
    ):
        for texts, constraints in inputs:
            cut = [split_sentences(text, languages[0]) for text in texts] if languages[0] else None
            sentences = list(itertools.chain.from_iterable(cut)) if cut else texts
            try:
                translations = translator.translate(sentences, constraints, **changes)
            except UserError as error:  # it counts from the first sentence here
                raise type(error)(f"lines {done + 1} to {done + len(texts)}: {error}") from None
            done += len(texts)
            scored = (
                translator.score_targets(sentences, [t.text for t in translations])
                if arguments.probabilities
                else itertools.repeat(None)
            )
            written = []  # of each sentence
            for translation, pair in zip(translations, scored):
                is_to_align = exported and alignment and translation.tokens
                if is_to_align and not translation.alignment.any():
                    raise UsageError(
                        f"--alignment: expected a model with attention, got {exported}, which"
                        " aligns nothing"
                    )
                written.append(formatted(translation, number, form, alignment, config.nbest, pair))
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
            "--split-sentences: expected --output-type text or json with it, got nbest, whose lists"
            " cannot be joined"
        )
    if form == "text" and (arguments.alignment or arguments.probabilities):
        flag = "--alignment" if arguments.alignment else "--probabilities"
        raise UsageError(
            f"--split-sentences: expected --output-type json with it and {flag}, got text; json has"
            " them for each sentence"
        )
    if arguments.constraints or arguments.term_marks:
        flag = "--constraints" if arguments.constraints else "--term-marks"
        raise UsageError(
            f"--split-sentences: expected no {flag} with it, as a phrase belongs to one sentence;"
            " give one sentence a line"
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


def _phrase_lines(arguments):
    """Batches of lines of --constraints, or None; checks that the file exists."""
    if arguments.constraints is None:
        return None
    if arguments.constraints == "-" and (not arguments.files or "-" in arguments.files):
        raise UsageError(
            "--constraints -: expected a file, as the text comes from standard input; name a file"
            " for one of them"
        )
    batches = input_batches([arguments.constraints], 1024)
    phrases = count_lines([arguments.constraints])
    lines = count_lines(arguments.files or ["-"])
    # the length of a pipe is unknown; a missing line is then reported when it is reached
    if None not in (phrases, lines):
        check_lines(arguments.constraints, phrases, lines)
    return batches


def _constrained(batches, phrase_lines, arguments):
    """Yield (texts, constraints for each text, or None), from --constraints and --term-marks."""
    if phrase_lines is not None:
        batches = with_constraints(batches, phrase_lines, arguments.constraints)
    else:
        batches = (
            (texts, [[] for _ in texts] if arguments.term_marks else None) for texts in batches
        )
    number = 0
    for texts, constraints in batches:
        if arguments.term_marks:
            read = [
                without_marks(text, f"source line {number + k}")
                for k, text in enumerate(texts, start=1)
            ]
            texts = [text for text, _ in read]
            constraints = [more + marked for more, (_, marked) in zip(constraints, read)]
        number += len(texts)
        yield texts, constraints


def _load_exported(folder, form, arguments, nbest, constrained):
    """Load the exported model and check that it has the signatures that the output needs."""
    alignment = arguments.alignment
    lists = form == "nbest" or nbest > 1
    if constrained and (form != "text" or alignment):
        raise UsageError(
            "--constraints, --term-marks: expected --output-type text without --alignment with them"
            " for an exported model"
        )
    if lists and alignment:
        raise UsageError(
            "--alignment: expected no n-best list with it for an exported model, which aligns its"
            " best translation only"
        )
    import_tensorflow()
    from rnnsearch_tf.export.opening import open_translator

    translator = open_translator(folder)
    if arguments.probabilities:
        translator.require("score")
    if constrained:
        translator.require("translate_constrained")
    if form != "text" or alignment:
        translator.require("translate_nbest" if lists else "translate_aligned")
    translator.prefer_nbest = lists
    return translator


def formatted(
    translation: Translation,
    number: int,
    form: str,
    alignment: Callable[[Hypothesis, list[str] | None], str | list[list[float]]] | None,
    nbest: int,
    scored: ScoredPair | None = None,
) -> list[str]:
    """The output lines of one sentence.

    Args:
        number: of the sentence, from 0.
        form: text, json or nbest.
        alignment: function of (hypothesis, source tokens) that gives links or attention weights.
        nbest: size of the n-best list.
        scored: the log-probabilities, for --probabilities.
    """
    source = translation.source_tokens
    sentence, tokens = _probabilities(scored) if scored else (None, [])
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
    columns = [translation.text]
    if alignment:
        value = alignment(translation, source)
        columns.append(value if isinstance(value, str) else json.dumps(value))
    if sentence is not None:
        columns += [f"{sentence:.3f}", " ".join(f"{p:.3f}" for _, p in tokens)]
    return ["\t".join(columns)]


def _probabilities(scored) -> tuple[float, list[tuple[str, float]]]:
    """The geometric mean of the probabilities, the end symbol's included, and (token, its
    probability) of each token.
    """
    import numpy as np

    logs = scored.token_log_probabilities
    tokens = zip(scored.target_tokens, np.exp(logs[: len(scored.target_tokens)]).tolist())
    return float(np.exp(logs.mean())), list(tokens)


def _fields(hypothesis, source_tokens, alignment) -> dict:
    fields = {
        "text": hypothesis.text,
        "score": hypothesis.score,
        "log_probability": hypothesis.log_probability,
        "tokens": hypothesis.tokens,
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
