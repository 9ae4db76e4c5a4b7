"""Replace unknown words of an output by the source words that they are aligned to."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.text.characters import word_in_form

UNKNOWN_TOKEN = SPECIAL_TOKENS[UNKNOWN_ID]


class Lexicon(tf.Module):
    """A dictionary of single words, as a lookup table in the graph.

    Args:
        translations: dict of source word to target word.
    """

    def __init__(self, translations: dict[str, str]) -> None:
        super().__init__(name="lexicon")
        translations = translations or {"": ""}  # a table cannot be empty
        keys = tf.constant(list(translations), tf.string)
        values = tf.constant(list(translations.values()), tf.string)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values), default_value=""
        )

    @classmethod
    def load(
        cls,
        path: AnyPath,
        source_form: str = "NFC",
        target_form: str = "NFC",
        lowercase: bool = False,
    ) -> Lexicon:
        """Read a file of `source-word target-word` lines, plain or .gz, UTF-8; empty lines are
        ignored.

        Args:
            path: the file.
            source_form, target_form: Unicode normal form of the text of each side (its option
                `unicode_form`), to which words are converted.
            lowercase: convert source words to lower case, as the model's source text is.

        Raises:
            UserError: the file cannot be read, a line does not have two words, or a source word
                has two different translations; names file:line.
        """
        translations: dict[str, str] = {}
        first_seen: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            words = line.split()
            if not words:
                continue
            if len(words) != 2:
                raise UserError(
                    f"{path}:{number}: expected `source-word target-word`, got {len(words)} words: "
                    f"{' '.join(words[:6])!r}; correct or remove the line"
                )
            source, target = map(word_in_form, words, (source_form, target_form))
            source = source.lower() if lowercase else source
            if translations.setdefault(source, target) != target:
                raise UserError(
                    f"{path}:{number}: expected one translation of {source!r}, got {target!r} after"
                    f" {translations[source]!r} in line {first_seen[source]}; keep one of the lines"
                )
            first_seen.setdefault(source, number)
        return cls(translations)

    def lookup(self, words: tf.Tensor) -> tf.Tensor:
        """The translation of each word, or the word itself if there is none: string tensor, same
        shape.
        """
        found = self.table.lookup(words)
        return tf.where(found == "", words, found)


def replace_unknown(
    tokens: tf.RaggedTensor,
    alignments: tf.Tensor,
    source_tokens: tf.RaggedTensor,
    lexicon: Lexicon | None = None,
) -> tf.RaggedTensor:
    """Replace each unknown word by the source word with the largest attention weight, or by the
    translation of that word.

    Departure from Bahdanau et al. 2015, who leave [UNK] in the output. The rule is that of Luong et
    al. 2015, with attention in place of an aligner. The end symbol of the source is never copied.

    Args:
        tokens: RaggedTensor string [B, (I)], without the end symbol.
        alignments: float [B, I, J]; I and J are at least the lengths of the longest rows.
        source_tokens: RaggedTensor string [B, (J)], without the end symbol.
        lexicon: translations of source words; None: source words are copied.

    Returns:
        RaggedTensor string [B, (I)]; a row with an empty source is left unchanged.

    Example:
        >>> tokens = tf.ragged.constant([["<unk>", "dort"]])
        >>> source = tf.ragged.constant([["Zoe", "sleeps"]])
        >>> alignments = tf.constant([[[0.4, 0.1, 0.5], [0.0, 1.0, 0.0]]])
        >>> replace_unknown(tokens, alignments, source).to_list()
        [[b'Zoe', b'dort']]
    """
    source_lengths = tf.cast(source_tokens.row_lengths(), tf.int32)  # [B]
    real = tf.range(tf.shape(alignments)[2]) < source_lengths[:, tf.newaxis]  # [B, J]
    # weights are at least 0
    weights = tf.where(real[:, tf.newaxis], alignments, tf.constant(-1.0, alignments.dtype))
    rows = tf.cast(tokens.value_rowids(), tf.int32)  # [T], T tokens of the whole batch
    columns = tf.range(tf.shape(rows)[0]) - tf.gather(tf.cast(tokens.row_starts(), tf.int32), rows)
    unknown = (tokens.values == UNKNOWN_TOKEN) & (tf.gather(source_lengths, rows) > 0)

    where = tf.cast(tf.reshape(tf.where(unknown), [-1]), tf.int32)  # [U], the unknown words
    rows = tf.gather(rows, where)
    columns = tf.gather(columns, where)
    # [U]
    best = tf.argmax(
        tf.gather_nd(weights, tf.stack([rows, columns], axis=1)), axis=1, output_type=tf.int32
    )
    words = tf.gather(
        source_tokens.values, tf.gather(tf.cast(source_tokens.row_starts(), tf.int32), rows) + best
    )
    if lexicon is not None:
        words = lexicon.lookup(words)
    return tokens.with_values(
        tf.tensor_scatter_nd_update(tokens.values, where[:, tf.newaxis], words)
    )
