"""Planted faults of guided alignment: its loss, the links of a corpus, the words that they number;
aligners and lexicons.
"""

from mutants import Mutant

GUIDED = "equations/test_guided_alignment.py"
LINKS = "data/test_training_links.py"
LEXICON = "smt/test_lexicon.py"
ITEMS = "papers/test_alignment_items.py"

FAULTS = [
    Mutant(
        "layers/guided_alignment.py",
        "windows are not divided by their sum",
        "tf.math.divide_no_nan(\n        alignments, tf.reduce_sum(alignments, axis=-1,"
        " keepdims=True)\n    )",
        "alignments",
        (f"{GUIDED}::test_losses_of_every_word",),
    ),
    Mutant(
        "layers/guided_alignment.py",
        "the logarithm of nothing",
        "tf.maximum(alignments, SMALLEST_WEIGHT)",
        "alignments",
        (f"{GUIDED}::test_an_alignment_of_no_weight_at_a_link_is_finite",),
    ),
    Mutant(
        "models/translation_model.py",
        "the weight is left out",
        "losses += guided_alignment_weight * tf",
        "losses += tf",
        (f"{GUIDED}::test_losses_of_every_word",),
    ),
    Mutant(
        "models/translation_model.py",
        "it is not trained with",
        "guided_alignment_weight=loss.guided_alignment_weight,\n        )",
        "guided_alignment_weight=0.0)",
        (f"{GUIDED}::test_an_update_takes_both_parts",),
    ),
    Mutant(
        "models/luong.py",
        "a feeding model has the alignments of nobody",
        "return self._features(states)[:, :, 0], alignments[:, :, 0]",
        "return self._features(states)[:, :, 0], tf.ones_like(alignments[:, :, 0])",
        (f"{GUIDED}::test_losses_of_every_word",),
    ),
    Mutant(
        "alignment/tokens.py",
        "a target word counts once for each link",
        "matrix / np.maximum(matrix.sum(axis=-1, keepdims=True), 1)",
        "matrix",
        (
            f"{LINKS}::test_links_stay_with_their_pair",
            f"{LINKS}::test_a_piece_has_the_links_of_its_word",
        ),
    ),
    Mutant(
        "alignment/tokens.py",
        "links numbered by pieces",
        "        if all(numbers is None for numbers in self._numbers):\n",
        "        if True:\n",
        (f"{LINKS}::test_a_piece_has_the_links_of_its_word",),
    ),
    Mutant(
        "data/links.py",
        "a bad line keeps its links for the next",
        "            line = next(lines, None)\n",
        "            line = next(lines, None) if pair.kind is None else ''\n",
        (f"{LINKS}::test_links_stay_with_their_pair",),
    ),
    Mutant(
        "alignment/tokens.py",
        "one word too many",
        "if last >= words:",
        "if last > words:",
        (f"{LINKS}::test_a_wrong_link_is_named_before_training",),
    ),
    Mutant(
        "data/links.py",
        "more links than lines pass",
        "if next(lines, None) is not None:",
        "if False:",
        (f"{LINKS}::test_as_many_lines_of_links_as_of_text",),
    ),
    Mutant(
        "data/dataset.py",
        "wrong links are met in training",
        "        corpus.check_links()\n",
        "",
        (f"{LINKS}::test_a_wrong_link_is_named_before_training",),
    ),
    Mutant(
        "data/held_out.py",
        "held-out text has no links",
        "self.linked = pairs.linked",
        "self.linked = False",
        (f"{LINKS}::test_held_out_pairs_take_their_links_along",),
    ),
    Mutant(
        "data/batching.py",
        "a share has the whole batch's links",
        'rows["links"][:, : tf.shape(target)[1], : tf.shape(source)[1]]',
        'rows["links"]',
        (f"{LINKS}::test_a_share_of_a_batch_has_its_links",),
    ),
    Mutant(
        "alignment/lexicon.py",
        "any translation will do",
        "(entry[0][0], -entry[1], entry[0][1])",
        "entry[0]",
        (f"{LEXICON}::test_each_word_has_what_it_is_linked_to_most_often",),
    ),
    Mutant(
        "papers/corpora.py",
        "links are made anew",
        "if not (folder / LINKS).exists():",
        "if True:",
        (f"{ITEMS}::test_links_of_guided_alignment_are_made_once_and_of_every_line",),
    ),
    Mutant(
        "papers/alignment.py",
        "the error rate for the agreement",
        'return 1 - luong2015.error_rates(gold, links)["AER"]',
        'return luong2015.error_rates(gold, links)["AER"]',
        (f"{ITEMS}::test_agreement_is_counted_over_all_sentences",),
    ),
]
