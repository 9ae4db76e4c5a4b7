"""Pharaoh links as verbs write them: of words, as Moses and `aer` mean them; of subword pieces by
option.
"""

from __future__ import annotations

from rnnsearch_tf.text.characters import WORD_START


def add_pieces(parser):
    parser.add_argument(
        "--pieces",
        action="store_true",
        help="links of subword pieces, not of words, where the model has SentencePiece",
    )


class Links:
    """Makes the links of one model's alignments.

    Args:
        translator: Translator, or ExportedTranslator, which does not say how its text is cut: then
            the tokens show it.
        pieces: link the tokens themselves.
    """

    def __init__(self, translator, pieces=False):
        self._pieces = pieces
        self._subwords = None
        if hasattr(translator, "source_text"):
            texts = translator.source_text, translator.target_text
            self._subwords = tuple(text.config.tokenization == "sentencepiece" for text in texts)

    def __call__(
        self, alignment, source_tokens, target_tokens, words=(None, None), text=None
    ) -> list:
        """The links of a sentence, (source position, target position).

        Args:
            alignment: float [target tokens + 1, source tokens + 1]; the last row may be missing,
                where search was cut off.
            source_tokens, target_tokens: list[str].
            words: for each side list[str], what its line was cut into before; None: what spaces
                separate.
            text: the target text, where it is known.
        """
        import numpy as np

        from rnnsearch_tf.alignment.links import links, word_alignment, word_shares

        if len(alignment) == len(target_tokens):
            alignment = np.pad(alignment, [(0, 1), (0, 0)])
        if self._pieces:
            return links(alignment)
        sides = tuple(zip((source_tokens, target_tokens), words))
        cut = self._subwords or _cut(source_tokens, target_tokens, text)
        return links(
            word_alignment(
                alignment,
                *(word_shares(*side) if pieces else None for side, pieces in zip(sides, cut)),
            )
        )


def _cut(source_tokens, target_tokens, text):
    """Whether the tokens of each side are pieces, as far as a sentence shows it."""
    source, target = (
        any(token.startswith(WORD_START) for token in tokens)
        for tokens in (source_tokens, target_tokens)
    )
    # one word of pieces, all from within words
    return (
        source,
        target or source and "".join(target_tokens) == text,
    )
