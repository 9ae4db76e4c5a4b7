"""Pharaoh links as the verbs write them: of words, as in Moses and `aer`, or of subword pieces."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from rnnsearch_tf.cli import flags
from rnnsearch_tf.text.characters import PIECE_JOINT, WORD_START

if TYPE_CHECKING:
    import numpy as np

    from rnnsearch_tf.export.translator import ExportedTranslator
    from rnnsearch_tf.translation import Translator


def add_pieces(parser: ArgumentParser) -> None:
    flags.add_switch(
        parser,
        "--pieces",
        "link subword pieces, not words, if the model has SentencePiece or byte-pair codes",
    )


class Links:
    """Converts attention weights of one model to links.

    Args:
        translator: Translator, or ExportedTranslator, whose tokenization is unknown: it is then
            inferred from the tokens.
        pieces: link the tokens themselves, not words.
    """

    def __init__(self, translator: Translator | ExportedTranslator, pieces: bool = False) -> None:
        self._pieces = pieces
        self._subwords: tuple[bool, ...] | None = None
        self._byte_pairs: tuple[bool, ...] | None = None
        if hasattr(translator, "source_text") and hasattr(translator, "target_text"):
            texts = translator.source_text, translator.target_text
            self._byte_pairs = tuple(text.config.bpe_codes is not None for text in texts)
            self._subwords = tuple(
                coded or text.config.tokenization == "sentencepiece"
                for coded, text in zip(self._byte_pairs, texts)
            )

    def __call__(
        self,
        alignment: np.ndarray,
        source_tokens: list[str],
        target_tokens: list[str],
        words: tuple[list[str] | None, list[str] | None] = (None, None),
        text: str | None = None,
    ) -> list[tuple[int, int]]:
        """Compute the links of a sentence, (source position, target position).

        Args:
            alignment: float [target tokens + 1, source tokens + 1]; an unfinished hypothesis has no
                last row.
            words: words of the source and the target line before subword segmentation; None:
                separated by spaces.
            text: the target text, if known.
        """
        import numpy as np

        from rnnsearch_tf.alignment.links import (
            links,
            with_word_starts,
            word_alignment,
            word_shares,
        )

        if len(alignment) == len(target_tokens):
            alignment = np.pad(alignment, [(0, 1), (0, 0)])
        if self._pieces:
            return links(alignment)
        tokens = [source_tokens, target_tokens]
        coded = self._byte_pairs or map(_has_joints, tokens)
        tokens = [with_word_starts(side) if pairs else side for pairs, side in zip(coded, tokens)]
        is_pieces = self._subwords or _is_pieces(tokens[0], tokens[1], text)
        shares = [
            word_shares(side, its_words) if pieces else None
            for side, its_words, pieces in zip(tokens, words, is_pieces)
        ]
        return links(word_alignment(alignment, *shares))


def _has_joints(tokens):
    """Whether some tokens are pieces of byte-pair codes."""
    return any(token.endswith(PIECE_JOINT) for token in tokens)


def _is_pieces(source_tokens, target_tokens, text):
    """Whether the tokens of each side are subword pieces, as far as one sentence shows it."""
    source, target = (
        any(token.startswith(WORD_START) for token in tokens)
        for tokens in (source_tokens, target_tokens)
    )
    # a target of one word may consist of word-internal pieces only
    return source, target or source and "".join(target_tokens) == text
