"""The operations of a Text, traced; lists of Python strings out."""

import tensorflow as tf


class TracedText:
    """A Text whose operations are traced: one sentence meets many small ones, which take longer one by one."""

    def __init__(self, text):
        lines, ids = tf.TensorSpec([None], tf.string), tf.TensorSpec([None, None], tf.int32)
        tokens = tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1)
        traced = lambda function, signature: tf.function(function, input_signature=[signature])  # noqa: E731
        with_ids = lambda tokens: (tokens, text.ids(tokens))  # noqa: E731
        self._tokenize = traced(lambda lines: with_ids(text.tokenize(lines)), lines)
        self._split = traced(lambda lines: with_ids(text.split(lines)), lines)
        self.tokens = traced(text.tokens, ids)
        self.detokenize = traced(text.detokenize, tokens)

    def tokens_and_ids(self, lines, tokenized=False):
        """(tokens, ids) of every line, as lists; the ids end with the end symbol, the tokens have none."""
        tokens, ids = (self._split if tokenized else self._tokenize)(tf.constant(lines, tf.string))
        return strings(tokens), ids.to_list()


def strings(tokens) -> list:
    """Tokens of a ragged tensor, as lists of str."""
    return [[token.decode("utf-8") for token in row] for row in tokens.to_list()]
