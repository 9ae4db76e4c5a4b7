"""Lower case in TensorFlow operations, the same in every locale.

``tf.strings.lower`` follows the language that the variables LC_ALL and LANG name: in Turkish "I"
becomes "ı", in Lithuanian "Í" becomes "i̇́".
"""

from __future__ import annotations

import tensorflow as tf

_LETTERS_OF_LOCALES = "IİJĮÌÍĨ"
"""Capitals whose lower case is another one in Turkish, Azerbaijani or Lithuanian."""


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
