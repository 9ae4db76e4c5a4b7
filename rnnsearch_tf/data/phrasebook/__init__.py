"""The built-in English–French corpus: lexicon, grammar, sentence patterns, and three parts drawn
from them.
"""

from rnnsearch_tf.data.phrasebook.draw import (
    PARTS,
    phrasebook,
    phrasebook_alignments,
    phrasebook_tokens,
)

__all__ = ["PARTS", "phrasebook", "phrasebook_alignments", "phrasebook_tokens"]
