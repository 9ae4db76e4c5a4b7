"""Lower case and capitals in TensorFlow operations, the same in every locale.

``tf.strings.lower`` and ``tf.strings.upper`` follow the language that the variables LC_ALL and LANG
name: in Turkish "I" becomes "ı", in Lithuanian "Í" becomes "i̇́", and Greek capitals lose their
accents.
"""

from __future__ import annotations

import functools

import tensorflow as tf

_LETTERS_OF_LOCALES = "IİJĮÌÍĨ"
"""Capitals whose lower case is another one in Turkish, Azerbaijani or Lithuanian."""

_MOST_CODE = 0x1FFFF  # no script beyond has capitals


def lower(texts: tf.Tensor) -> tf.Tensor:
    """Lower case as that of ``str.lower``: string tensor, same shape out. Letters that are newer
    than Unicode 13 stay as they are.

    Example:
        >>> lower(tf.constant(["I AM ΟΔΟΣ"])).numpy()[0].decode()
        'i am οδος'
    """
    for letter in _LETTERS_OF_LOCALES:
        texts = tf.strings.regex_replace(texts, letter, letter.lower())
    return tf.strings.lower(texts, "utf-8")


def capitals(letters: tf.Tensor) -> tf.Tensor:
    """The capital of each letter, as ``str.upper`` has it: string [T], of one character each, same
    shape out.

    Example:
        >>> [word.decode() for word in capitals(tf.constant(["i", "ß", "!"])).numpy()]
        ['I', 'SS', '!']
    """
    known, written = _capitals()
    codes = tf.strings.unicode_decode(letters, "UTF-8").to_tensor(0, shape=[None, 1])[:, 0]
    places = tf.minimum(tf.searchsorted(known, codes), len(known) - 1)
    return tf.where(tf.gather(known, places) == codes, tf.gather(written, places), letters)


@functools.cache
def _capitals() -> tuple[list[int], list[str]]:
    """(code points of the letters that have another capital, rising; these capitals)."""
    letters = [code for code in range(_MOST_CODE) if chr(code).upper() != chr(code)]
    return letters, [chr(code).upper() for code in letters]
