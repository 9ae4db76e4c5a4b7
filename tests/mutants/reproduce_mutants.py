"""Planted faults of reproduced tables, of cold starts, and of phrases without a space."""

from mutants import Mutant

REPRODUCE, LAZY, PHRASES = "reproduce/test_reproduce.py", "export/test_lazy_session.py", "text/test_phrases.py"

PAGES = [
    Mutant("reproduce/corpora.py", "groups overlap", "        start += size\n", "        start += 1\n",
           (f"{REPRODUCE}::test_joined_texts_are_the_captions_in_their_order_on_both_sides",)),
    Mutant("reproduce/corpora.py", "long pairs stay", "<= longest]", "<= 10 * longest]",
           (f"{REPRODUCE}::test_joined_texts_are_the_captions_in_their_order_on_both_sides",)),
    Mutant("reproduce/workspace.py", "everything is measured again", "        if not path.exists():\n            found", "        if True:\n            found",
           (f"{REPRODUCE}::test_measurements_are_made_once",)),
    Mutant("reproduce/workspace.py", "members of an ensemble are the same", "training.seed={seed + MEMBER_SEEDS * recipe.member}", "training.seed={seed}",
           (f"{REPRODUCE}::test_every_recipe_is_a_good_configuration",)),
    Mutant("reproduce/luong2015.py", "links of other sentences", "in zip(translator.score_targets(sources, references), gold)",
           "in zip(translator.score_targets(sources, references), gold[1:] + gold[:1])", (f"{REPRODUCE}::test_an_item_on_the_built_in_corpus",)),
    Mutant("reproduce/claims.py", "one seed is enough", 'found = "held" if all(above)', 'found = "held" if any(above)',
           (f"{REPRODUCE}::test_claims_are_what_the_measurements_say",)),
    Mutant("reproduce/claims.py", "the falls exchanged", "paper, _less(encdec_fall, search_fall)", "paper, _less(search_fall, encdec_fall)",
           (f"{REPRODUCE}::test_claims_are_what_the_measurements_say",)),
    Mutant("reproduce/claims.py", "a handful of sentences decides", 'if bucket["sentences"] >= ENOUGH]', "]",
           (f"{REPRODUCE}::test_claims_are_what_the_measurements_say",)),
    Mutant("reproduce/workspace.py", "other settings pass", "if before != settings:", "if False:",
           (f"{REPRODUCE}::test_what_was_made_with_other_settings_is_not_shown_as_ones_own",)),
    Mutant("reproduce/workspace.py", "members for every seed", "return self.seeds[:1] if self.scale.recipes[name].member else self.seeds", "return self.seeds",
           (f"{REPRODUCE}::test_members_of_an_ensemble_are_trained_once_and_differ",)),
    Mutant("reproduce/page.py", "the spread of the population", "statistics.stdev", "statistics.pstdev", (f"{REPRODUCE}::test_seeds_give_mean_and_spread",)),
    Mutant("export/lazy_session.py", "functions of functions are left out", "                waiting += _functions_of(self._functions[name].node_def)\n", "",
           (f"{LAZY}::test_every_signature_answers_as_in_the_stock_session",)),
    Mutant("export/lazy_session.py", "all functions come", "for name in self._called(new.node))", "for name in self._functions)",
           (f"{LAZY}::test_a_signature_brings_its_own_functions_only",)),
    Mutant("cli/quiet.py", "garbage is left alone for ever", "        gc.set_threshold(*before)\n", "",
           ("cli/test_quiet.py::test_garbage_is_searched_for_as_often_as_ever_once_all_is_imported",)),
    Mutant("text/phrases.py", "the space stays", "first = tf.where(text.vocabulary.ids(bare) == UNKNOWN_ID, first, bare)", "pass",
           (f"{PHRASES}::test_a_phrase_of_a_script_without_spaces_begins_without_one",)),
    Mutant("text/phrases.py", "unknown pieces", "first = tf.where(text.vocabulary.ids(bare) == UNKNOWN_ID, first, bare)", "first = bare",
           (f"{PHRASES}::test_a_phrase_of_a_script_without_spaces_begins_without_one",)),
    Mutant("text/phrases.py", "a lone space stays", '(first != "") & ~only_space', 'first != ""',
           (f"{PHRASES}::test_a_phrase_of_a_script_without_spaces_begins_without_one",)),
]  # fmt: skip
