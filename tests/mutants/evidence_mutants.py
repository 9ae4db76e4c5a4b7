"""Planted faults of corpus selection, evaluation, plots of vectors and symmetrization; see
mutants.py.
"""

from mutants import Mutant

NGRAMS = "text/test_ngrams.py"
SELECTION = "data/test_selection.py"
SIGNIFICANCE = "evaluation/test_significance.py"
EVALUATE = "cli/test_evaluate_more.py"
VECTORS = "evaluation/test_vectors.py"
BOTH = "evaluation/test_symmetrization.py"

EVIDENCE = [
    Mutant(
        "text/ngrams.py",
        "lower orders count occurrences",
        "counts[-1] = np.bincount(shorter, minlength=len(counts[-1])) + ",
        "counts[-1] = counts[-1] + 0 * ",
        (f"{NGRAMS}::test_it_is_the_equation",),
    ),
    Mutant(
        "text/ngrams.py",
        "n-grams that begin a sentence have no count below",
        " + np.bincount(\n                places[-1][begins], minlength=len(counts[-1])\n        "
        "    )",
        "",
        (
            f"{NGRAMS}::test_it_is_the_equation",
            f"{SELECTION}::test_scores_are_the_difference_of_cross_entropies",
        ),
    ),
    Mutant(
        "text/ngrams.py",
        "all that is discounted is lost",
        "order.discount * order.words[known] * p",
        "0 * p",
        (f"{NGRAMS}::test_the_probabilities_of_the_next_word_sum_to_one",),
    ),
    Mutant(
        "text/ngrams.py",
        "the beginning of a sentence is a word",
        "    words = np.insert(ids, starts, self._size)",
        "    words = np.insert(ids, starts, 3)",
        (f"{NGRAMS}::test_it_is_the_equation",),
    ),
    Mutant(
        "data/inspection/selection.py",
        "the difference the other way round",
        "for model in reversed(self._models)\n",
        "for model in self._models\n",
        (
            f"{SELECTION}::test_scores_are_the_difference_of_cross_entropies",
            f"{SELECTION}::test_the_lowest_are_kept_in_their_order",
        ),
    ),
    Mutant(
        "data/inspection/selection.py",
        "the sum over a sentence, not the mean",
        "np.cumsum(lengths) - lengths) / lengths, lengths - 1",
        "np.cumsum(lengths) - lengths), lengths - 1",
        (f"{SELECTION}::test_scores_are_the_difference_of_cross_entropies",),
    ),
    Mutant(
        "data/inspection/selection.py",
        "every word is known",
        "minimum_count=2",
        "minimum_count=1",
        (
            f"{SELECTION}::test_scores_are_the_difference_of_cross_entropies",
            f"{SELECTION}::test_what_is_wrong_is_said",
        ),
    ),
    Mutant(
        "data/inspection/selection.py",
        "empty and long pairs can be kept",
        "kept & (scores < LEFT_OUT)",
        "kept",
        (f"{SELECTION}::test_what_cannot_be_kept_is_not",),
    ),
    Mutant(
        "data/inspection/selection.py",
        "words of other pairs are counted",
        "np.asarray(lengths, np.int64)[best]",
        "np.asarray(lengths, np.int64)[: len(best)]",
        (f"{SELECTION}::test_so_many_target_words_are_kept_of_the_best",),
    ),
    Mutant(
        "data/inspection/selection.py",
        "late pairs are drawn more often",
        "generator.randrange(count)",
        "generator.randrange(number)",
        (f"{SELECTION}::test_every_pair_is_drawn_as_often",),
    ),
    Mutant(
        "data/inspection/selection.py",
        "a round learns from all that was kept",
        "selection.scores <= np.median(selection.scores[selection.kept])",
        "selection.kept",
        (f"{SELECTION}::test_a_further_round_learns_from_the_better_half",),
    ),
    Mutant(
        "evaluation/bleu.py",
        "TER without case",
        "sacrebleu.TER(case_sensitive=not lowercase,",
        "sacrebleu.TER(case_sensitive=False,",
        (
            f"{SIGNIFICANCE}::test_case_counts_in_ter_too",
            f"{EVALUATE}::test_ter_intervals_and_a_baseline",
        ),
    ),
    Mutant(
        "evaluation/significance.py",
        "the systems in exchange",
        '[("baseline", baseline), ("system", hypotheses)]',
        '[("baseline", hypotheses), ("system", baseline)]',
        (f"{SIGNIFICANCE}::test_paired_bootstrap",),
    ),
    Mutant(
        "evaluation/groups.py",
        "an unknown word is the most frequent",
        "unknown if word == UNKNOWN_ID else word - first + 1",
        "word - first + 1",
        (f"{EVALUATE}::test_groups_of_sentences",),
    ),
    Mutant(
        "evaluation/search_errors.py",
        "scores without the length",
        "/ (len(reference.target_tokens) + 1) ** exponent",
        "",
        (f"{EVALUATE}::test_search_errors",),
    ),
    Mutant(
        "evaluation/search_errors.py",
        "references with unknown words are compared",
        "if fits and source.strip()",
        "if source.strip()",
        (f"{EVALUATE}::test_search_errors",),
    ),
    Mutant(
        "extras/plots/alignment.py",
        "labels cover each other",
        " and not any(box.overlaps(other) for other in boxes):",
        ":",
        (f"{VECTORS}::test_labels_do_not_overlap_or_leave_the_frame_of_the_picture",),
    ),
    Mutant(
        "extras/plots/alignment.py",
        "labels leave the frame",
        "if _contains(frame, box) and",
        "if",
        (f"{VECTORS}::test_labels_do_not_overlap_or_leave_the_frame_of_the_picture",),
    ),
    Mutant(
        "layers/base.py",
        "the mean counts padding",
        "tf.reduce_sum(vectors * real, axis=1), tf.reduce_sum(real, axis=1)",
        "tf.reduce_sum(vectors, axis=1), tf.reduce_sum(tf.ones_like(real), axis=1)",
        (f"{VECTORS}::test_padding_and_company_change_nothing",),
    ),
    Mutant(
        "alignment/symmetrization.py",
        "growing without diagonals",
        ", (-1, -1), (-1, 1), (1, -1), (1, 1))",
        ")",
        (f"{BOTH}::test_it_is_mosess", f"{BOTH}::test_worked_out_by_hand"),
    ),
    Mutant(
        "alignment/symmetrization.py",
        "final, not final-and",
        "if j not in sources and i not in targets:",
        "if j not in sources or i not in targets:",
        (f"{BOTH}::test_it_is_mosess", f"{BOTH}::test_worked_out_by_hand"),
    ),
    Mutant(
        "cli/align.py",
        "the other direction is not turned round",
        "{(j, i) for i, j in turned}",
        "set(turned)",
        (f"{BOTH}::test_two_models_are_put_together",),
    ),
]
