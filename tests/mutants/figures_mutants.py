"""Planted faults of the papers' figures."""

from mutants import Mutant

FIGURES = "papers/test_figures.py"
KNOWN = "test_states_that_are_known_are_told_apart"
STEPS = "test_steps_and_swaps_by_brute_force"
LENGTHS = "test_the_page_of_lengths_and_ranks"

PAGES = [
    Mutant(
        "papers/sutskever2014_figures.py",
        "roles exchanged count as kept",
        '"voice": same < other}',
        '"voice": other < same}',
        (f"{FIGURES}::{KNOWN}",),
    ),
    Mutant(
        "papers/sutskever2014_figures.py",
        "the same words are taken for another verb",
        "other_verb < same_words",
        "same_words < other_verb",
        (f"{FIGURES}::{KNOWN}",),
    ),
    Mutant(
        "papers/sutskever2014_figures.py",
        "the other model's translations",
        "translations(work, name, [seed])[BEAM]",
        'translations(work, "lstm-reversed", [seed])[BEAM]',
        (f"{FIGURES}::{LENGTHS}",),
    ),
    Mutant(
        "papers/sutskever2014_figures.py",
        "case counts",
        "numbers, lowercase=True, tokenize",
        "numbers, tokenize",
        (f"{FIGURES}::{LENGTHS}",),
    ),
    Mutant(
        "papers/sutskever2014_figures.py",
        "ranks instead of lengths",
        '"length": fifths(lengths)',
        '"length": fifths(average_ranks(side, sources))',
        (f"{FIGURES}::{LENGTHS}",),
    ),
    Mutant(
        "papers/monotone.py",
        "swaps of two steps",
        "if later == place - 1",
        "if later == place - 2",
        (f"{FIGURES}::{STEPS}",),
    ),
    Mutant(
        "papers/monotone.py",
        "words in the order of the target",
        "{source[later]} {source[place]}",
        "{source[place]} {source[later]}",
        (f"{FIGURES}::{STEPS}",),
    ),
    Mutant(
        "papers/monotone.py",
        "steps in the wrong direction",
        "later - place for",
        "place - later for",
        (f"{FIGURES}::test_the_page_of_steps",),
    ),
    Mutant(
        "papers/bahdanau2015.py",
        "RNNencdec is drawn as RNNsearch",
        'name.startswith("rnnsearch")',
        'name.startswith("rnn")',
        (f"{FIGURES}::test_curves_are_drawn_where_they_belong",),
    ),
    Mutant(
        "papers/claim.py",
        "flat is all that does not lose everything",
        "FLAT = 0.1",
        "FLAT = 0.9",
        ("papers/test_claims.py::test_claims_are_what_the_measurements_say",),
    ),
    Mutant(
        "papers/phrase_based.py",
        "the inverse probability",
        "float(pair.fields[SCORES].split()[2])",
        "float(pair.fields[SCORES].split()[0])",
        (f"{FIGURES}::test_the_rows_of_a_table",),
    ),
    Mutant(
        "papers/phrase_based.py",
        "the target's count",
        "pair.fields[SCORES + 2].split()[1]",
        "pair.fields[SCORES + 2].split()[0]",
        (f"{FIGURES}::test_the_rows_of_a_table",),
    ),
    Mutant(
        "papers/cho2014_figures.py",
        "the unlikeliest translation",
        "mine = -row.probability, row.target",
        "mine = row.probability, row.target",
        (f"{FIGURES}::test_the_rows_of_a_table",),
    ),
    Mutant(
        "papers/cho2014_figures.py",
        "compared with a phrase of any words",
        " and len(_common(first, third)) == len(\n                common\n            )",
        "",
        (f"{FIGURES}::test_paraphrases_and_what_they_are_compared_with",),
    ),
    Mutant(
        "papers/cho2014_figures.py",
        "compared with another paraphrase",
        "if alike and translations[third] != translations[first]:",
        "if alike:",
        (f"{FIGURES}::test_paraphrases_and_what_they_are_compared_with",),
    ),
    Mutant(
        "papers/cho2014_figures.py",
        "no table is left without a word",
        "    if not triples:\n",
        "    if triples is None:\n",
        (f"{FIGURES}::test_a_table_without_paraphrases_is_named",),
    ),
    Mutant(
        "papers/cho2014_figures.py",
        "cosines of other pairs",
        "in (second, third, np.roll(second, 1, axis=0))",
        "in (third, second, np.roll(second, 1, axis=0))",
        (f"{FIGURES}::test_states_of_meaning_and_of_words",),
    ),
    Mutant(
        "papers/cho2014_figures.py",
        "the correlation of the numbers",
        "float(spearmanr(table, model).statistic)",
        "float(np.corrcoef(table, model)[0, 1])",
        (f"{FIGURES}::test_the_page_of_two_scores",),
    ),
    Mutant(
        "extras/plots/zooms.py",
        "the regions least alike",
        "np.argsort(-similarity",
        "np.argsort(similarity",
        (f"{FIGURES}::test_regions_are_those_of_vectors_that_are_alike",),
    ),
    Mutant(
        "extras/plots/zooms.py",
        "regions overlap",
        "> halves[k] + half for",
        "> 0 for",
        (f"{FIGURES}::test_regions_are_those_of_vectors_that_are_alike",),
    ),
    Mutant(
        "extras/plots/zooms.py",
        "what all vectors share counts",
        "    vectors = vectors - vectors.mean(axis=0)\n",
        "",
        (f"{FIGURES}::test_regions_are_those_of_vectors_that_are_alike",),
    ),
    Mutant(
        "extras/plots/zooms.py",
        "points outside of the frame",
        "_distances(points, centre) <= half)",
        "_distances(points, centre) <= 2 * half)",
        (f"{FIGURES}::test_a_region_has_its_points_in_the_colour_of_its_frame",),
    ),
    Mutant(
        "papers/documents.py",
        "a page does not say that a system is missing",
        "text.append(phrase_based.MISSING)",
        "pass",
        (
            "papers/test_paragraphs.py::"
            "test_the_phrase_based_system_is_beside_them_once_it_was_measured",
        ),
    ),
    Mutant(
        "papers/rare_words.py",
        "what is kept is the first search of a model",
        'work.output(f"{key}-{name}-{seed}", translate)',
        'work.output(f"rare-words-{name}-{seed}", translate)',
        ("papers/test_alignment_items.py::test_rare_words",),
    ),
    Mutant(
        "papers/luong2015.py",
        "only the last link of a sentence is kept",
        '"links": [links(each.alignment) for',
        '"links": [links(each.alignment)[::-1][:1] for',
        ("papers/test_reproduce.py::test_an_item_on_the_built_in_corpus",),
    ),
    Mutant(
        "papers/luong2015.py",
        "a difference has the wrong sign",
        "between(systems[better], systems[worse])",
        "between(systems[worse], systems[better])",
        ("papers/test_luong_scores.py::test_bleu_and_differences",),
    ),
]
