"""Planted faults in what people are told of bad models, and in the search without repetitions."""

from mutants import Mutant

SIGNS = "evaluation/test_warning_signs.py"
EXPORTED = "export/test_exported_as_run.py"
ENOUGH = "training/test_length_advice.py"
BEAM = "search/test_beam.py"

TOLD = [
    Mutant(
        "evaluation/warning_signs.py",
        "the last place of a loop is left out",
        "range(len(tokens) - TIMES * size + 1)",
        "range(len(tokens) - TIMES * size)",
        (f"{SIGNS}::test_loops_are_those_of_a_regular_expression",),
    ),
    Mutant(
        "evaluation/warning_signs.py",
        "marks running are a loop",
        "any(character.isalpha() for",
        "any(True for",
        (f"{SIGNS}::test_loops_are_those_of_a_regular_expression",),
    ),
    Mutant(
        "evaluation/warning_signs.py",
        "a loop of the source counts",
        ") and not has_loop(source.tokens)",
        ")",
        (f"{SIGNS}::test_what_is_said_of_loops",),
    ),
    Mutant(
        "evaluation/warning_signs.py",
        "the quantile of the lengths is one place too low",
        "math.ceil(SHARE_BELOW * len(ordered)) - 1",
        "math.ceil(SHARE_BELOW * len(ordered)) - 2",
        (f"{SIGNS}::test_the_length_is_a_quantile",),
    ),
    Mutant(
        "evaluation/warning_signs.py",
        "SentencePiece's mark is a word that the model knows",
        "sum(token != WORD_START for token in source.tokens)",
        "len(source.tokens)",
        (
            f"{SIGNS}::test_what_is_said_of_unknown_words",
            f"{SIGNS}::test_sources_that_somebody_else_has_read",
        ),
    ),
    Mutant(
        "cli/translate.py",
        "the sources of an export are not read",
        "return WarningSigns(*read_training_text(exported)), translator.sources",
        "return WarningSigns(*read_training_text(exported)), lambda _: None",
        (f"{EXPORTED}::test_unlike_text_is_said_as_of_the_run",),
    ),
    Mutant(
        "cli/translate.py",
        "an export warns of loops only",
        "return WarningSigns(*read_training_text(exported)), translator.sources",
        "return WarningSigns(), translator.sources",
        (f"{EXPORTED}::test_unlike_text_is_said_as_of_the_run",),
    ),
    Mutant(
        "export/about.py",
        "the limit of the training is that of the export",
        '"longest_source": saved_config(run.config).data.maximum_source_length',
        '"longest_source": 200',
        (f"{EXPORTED}::test_an_export_names_the_training_text",),
    ),
    Mutant(
        "export/about.py",
        "an export without its description is refused",
        "    if not path.exists():\n        return None, None\n",
        "",
        (f"{EXPORTED}::test_an_export_names_the_training_text",),
    ),
    Mutant(
        "training/length_advice.py",
        "the graph of the first update counts as its speed",
        "self._measured_from = now, updates",
        "self._measured_from = now - 30, updates",
        (f"{ENOUGH}::test_it_is_said_once_after_a_minute",),
    ),
    Mutant(
        "training/length_advice.py",
        "a good model of few updates is called too short",
        "bleu >= USABLE_BLEU or bleu",
        "bleu",
        (f"{ENOUGH}::test_a_usable_model_is_passed",),
    ),
    Mutant(
        "training/length_advice.py",
        "a score of the start is no reason",
        "or best != state.began_at",
        "or best >= state.began_at",
        (f"{ENOUGH}::test_a_start_that_nothing_beats",),
    ),
    Mutant(
        "search/repetition.py",
        "the last N tokens are not looked at",
        "written[:, :, place : place + count]",
        "written[:, :, place + 1 : place + 1 + count]",
        (f"{BEAM}::test_beam_of_one_is_greedy",),
    ),
    Mutant(
        "search/beam.py",
        "the words do not follow their hypothesis",
        "tf.gather(leaf, parents, batch_dims=1), (state, written)",
        "tf.gather(leaf, 0 * parents if leaf is written else parents, batch_dims=1),"
        " (state, written)",
        (f"{BEAM}::test_beam_is_the_reference_beam",),
    ),
    Mutant(
        "search/topk.py",
        "forbidden words leave their probability to the others",
        "return words._replace(blocks=blocks, maxima=tf.reduce_max(blocks, axis=-1))",
        "return next_words(tf.reshape(blocks, [shape[0], words.blocks.shape[1], size]))",
        (f"{BEAM}::test_beam_of_one_is_greedy",),
    ),
]
