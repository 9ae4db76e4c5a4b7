"""Sentences as words: which a model knows, and the tokens that the BLEU of the papers and of the
literature compares.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from rnnsearch_tf.config import UNKNOWN_ID
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.pipeline import Text


def unknown_words(source_text: Text, target_text: Text, sources, *references) -> list:
    """How many words of each source sentence and its references together the model does not know.

    Pairs of which it knows all are those of Table 1, right column.

    Args:
        source_text, target_text: the model's two sides.
        sources: list[str].
        *references: list[str] of equal length, one for each reference that a sentence has.

    Returns:
        list[int].
    """
    rows = zip(
        source_text.encode(sources).to_list(),
        *(target_text.encode(lines).to_list() for lines in references),
    )
    return [sum(ids.count(UNKNOWN_ID) for ids in pair) for pair in rows]


def written_tokens(text: Text, translations) -> list:
    """The tokens of translations joined by spaces: those that the model wrote; Moses's of its text
    where it writes subwords.

    The text of tokens that are words is no way back to them: Moses's rules cut `. il` of a
    lower-cased line otherwise than `. Il`.

    Args:
        text: the target side.
        translations: list of Translation.

    Returns:
        list[str].
    """
    if text.config.tokenization == "sentencepiece":
        return tokenized(text, [translation.text for translation in translations])
    return [" ".join(translation.tokens) for translation in translations]


def tokenized(text: Text, lines) -> list:
    """Lines as tokens joined by spaces, by the rules of one side; Moses rules where that side has
    subwords.

    A lower-cased side gives lower-cased tokens; of subwords, whose translations have no capitals
    left for Moses's rules to go by, the line is lower-cased before it is cut. An unknown word,
    ``<unk>``, is one token, which Moses's rules would cut into three.

    Args:
        text: the side.
        lines: list[str].

    Returns:
        list[str].
    """
    if text.config.tokenization == "sentencepiece":
        lines = text.prepared(lines)
        text = Text(dataclasses.replace(text.config, tokenization="moses"), text.vocabulary)
    joined = tf.strings.reduce_join(text.tokenize_translations(lines), axis=1, separator=" ")
    return [line.decode("utf-8") for line in joined.numpy()]


def lc_norm_tok(lines, language) -> tuple:
    """Lines in the form that published BLEU on Multi30k is of: the ``lc.norm.tok`` files of that
    dataset.

    Lower-cased, then Moses's normalize-punctuation.perl, then its tokenizer.perl with escapes
    (``&apos;``).

    Args:
        lines: list[str].
        language: code such as ``fr``.

    Returns:
        (list[str] of tokens joined by spaces, what the signature says of how they were made).

    Raises:
        UserError: the package sacremoses, which has both programs' rules, is not installed.

    Example:
        >>> lc_norm_tok(["Il s'appelle « Neude »."], "fr")[0]
        ['il s&apos; appelle &quot; neude &quot; .']
    """
    require("BLEU of lc.norm.tok", "sacremoses")
    import sacremoses

    normalizer = sacremoses.MosesPunctNormalizer(language)
    tokenizer = sacremoses.MosesTokenizer(language)
    # The Perl program meets every line with its line end, and one of its rules looks for what
    # follows a quotation mark.
    tokens = [
        tokenizer.tokenize(normalizer.normalize(line.lower() + "\n"), return_str=True)
        for line in lines
    ]
    return tokens, f"text:lc.norm.tok-{language}|sacremoses:{sacremoses.__version__}"
