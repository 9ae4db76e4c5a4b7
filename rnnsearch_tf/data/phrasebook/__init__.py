"""The built-in English–French corpus: words, grammar, sentence patterns, and the three parts drawn
from them.
"""

from rnnsearch_tf.data.phrasebook.draw import (
    PARTS,
    phrasebook,
    phrasebook_alignments,
    phrasebook_tokens,
)

__all__ = ["PARTS", "phrasebook", "phrasebook_alignments", "phrasebook_tokens"]
