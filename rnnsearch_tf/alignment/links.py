"""Alignments: from the attention matrix to Pharaoh links, of tokens or of words, and to plain
numbers.
"""

from __future__ import annotations

import numpy as np

from rnnsearch_tf.text.characters import WORD_START


def as_pharaoh(pairs) -> str:
    """Links (source position, target position) as a Pharaoh line ``0-0 1-2``."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def links(alignment) -> list:
    """The links of a sentence pair, the end symbols left out.

    Every target word is linked to the source word it attends to most; the end
    symbol's share of the attention is not looked at. A sentence without words
    on one side has no links.

    Args:
        alignment: float [I, J], α of eq. (6): one row a target token, one column a source
            token, the end symbols last on both sides.

    Returns:
        list of (source position, target position) from 0, sorted.

    Example:
        >>> links([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]])
        [(0, 1), (1, 0)]
    """
    words = np.asarray(alignment, dtype=np.float64)  # [I, J]
    # [words of target, words of source]
    words = words[:-1, :-1] if words.ndim == 2 else np.zeros((0, 0))
    if 0 in words.shape:
        return []
    return sorted((int(j), i) for i, j in enumerate(words.argmax(axis=1)))


def of_words(alignment, source=None, target=None):
    """The alignment of words, from that of their subword pieces.

        α'_IJ = mean over the pieces i of target word I of  Σ over the pieces j of source word J
        α_ij

    A piece of several words counts for each by its characters.

    Args:
        alignment: float [I, J], end symbols last on both sides.
        source, target: what :func:`word_shares` gives for the pieces of that side, [J - 1, source
            words] and [I - 1, target words]; None where its tokens are words already.

    Returns:
        float64 [target words + 1, source words + 1], end symbols last.

    Example:
        >>> shares = word_shares(["▁a", "▁b", "c"])
        >>> links(of_words([[0.4, 0.3, 0.3, 0.0], [0.0, 0.1, 0.1, 0.8]], source=shares))
        [(1, 0)]
    """
    alignment = np.asarray(alignment, np.float64)
    if alignment.size and source is not None:
        alignment = alignment @ _with_end(source)
    if alignment.size and target is not None:
        shares = _with_end(target)  # [I, words + 1]
        alignment = (shares / shares.sum(axis=0)).T @ alignment
    return alignment


def word_shares(pieces, words=None):
    """How much of each piece belongs to each word.

    Args:
        pieces: list[str] of SentencePiece pieces, a U+2581 before every word. One that stands alone
            belongs to the word after it.
        words: list[str], the words that the text was made of, whose characters without spaces are
            those of the pieces; None: words are what U+2581 separates.

    Returns:
        float64 [pieces, words], each row of sum 1; without words [pieces, 0].

    Example:
        >>> word_shares(["▁th", "e", "▁", "cat"]).tolist()
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    joined = "".join(pieces)
    words = joined.split(WORD_START) if words is None else words
    # the word of every character
    owners = [number for number, word in enumerate(filter(None, words)) for _ in word]
    shares = np.zeros((len(pieces), owners[-1] + 1 if owners else 0))
    place = 0
    for row, piece in zip(shares, pieces):
        length = len(piece.replace(WORD_START, ""))
        for owner in (owners[place : place + max(length, 1)] or owners[-1:]) if owners else []:
            row[owner] += 1
        place += length
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)


def _with_end(shares):
    """The shares with a row and a column of the end symbol, which is a word by itself."""
    whole = np.zeros(np.add(shares.shape, 1))
    whole[:-1, :-1] = shares
    whole[-1, -1] = 1
    return whole


def entropies(alignment) -> np.ndarray:
    """How spread the attention of each target token is: −Σ_j α_ij ln α_ij, in nats, from 0 (one
    word) to ln J (all alike).

    Args:
        alignment: float [I, J].

    Returns:
        float64 [I].

    Example:
        >>> entropies([[1.0, 0.0], [0.5, 0.5]]).round(3).tolist()
        [0.0, 0.693]
    """
    weights = np.asarray(alignment, np.float64)
    return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1) + 0.0  # no -0


def as_numbers(alignment, digits=4) -> list:
    """The matrix as nested lists, rounded, for JSON."""
    return [[round(float(weight), digits) for weight in row] for row in alignment]
