"""First of all: valid UTF-8, one Unicode form, single spaces."""

import tensorflow as tf

from rnnsearch_tf.text import characters


def normalize(texts, form="NFC"):
    """Replace invalid UTF-8 by U+FFFD and take a Unicode normal form.

    Args:
        texts: string [B] (or any shape).
        form: ``"NFC"``, ``"NFKC"`` or ``"none"``.

    Returns:
        string, same shape, always valid UTF-8.

    Example:
        >>> normalize(tf.constant([b"e\\xcc\\x81"])).numpy()[0].decode()
        'é'
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    if form == "none":
        return texts
    import tensorflow_text  # its op library takes a second to load, and form "none" does without

    return tensorflow_text.normalize_utf8(texts, form)


def clean(texts):
    """Turn every run of white space (Unicode's too) into one space, delete control characters, strip.

    Example:
        >>> clean(tf.constant([" a\\t\\u00a0b\\x07 "])).numpy()[0]
        b'a b'
    """
    texts = tf.strings.regex_replace(texts, f"[{characters.SPACE}]+", " ")
    texts = tf.strings.regex_replace(texts, f"[{characters.CONTROL}]", "")
    texts = tf.strings.regex_replace(texts, "  +", " ")  # "a \x07 b" has left two
    return tf.strings.strip(texts)


def lowercase(texts):
    """Lower-case by Unicode's rules; string of any shape, or ragged."""
    return tf.strings.lower(texts, encoding="utf-8")
