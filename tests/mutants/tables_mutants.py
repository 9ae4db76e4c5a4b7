"""Planted faults in columns of tables and in pairs that are held in Python."""

from mutants import Mutant

TABLES = "data/test_tables.py"
SAME = f"{TABLES}::test_a_table_has_the_pairs_that_were_written"
PYTHON = "data/test_pairs_in_python.py"
INIT = "cli/test_init.py"

COLUMNS = [
    Mutant(
        "files/tables.py",
        "a line break in a cell is two lines",
        'lines = (_line_breaks.sub(b" ", cell) for cell in cells)',
        'lines = (part for cell in cells for part in cell.split(b"\\n"))',
        (SAME,),
    ),
    Mutant(
        "files/tables.py",
        "names of columns are a pair",
        "for row in rows if header else itertools.chain([first], rows):",
        "for row in itertools.chain([first], rows):",
        (SAME,),
    ),
    Mutant(
        "files/tables.py",
        "columns count from 0",
        "place = number - 1",
        "place = number",
        (f"{TABLES}::test_columns_by_name_and_by_number",),
    ),
    Mutant(
        "files/tables.py",
        "a carriage return stays in the last cell",
        'yield line.removesuffix(b"\\r").split(b"\\t")',
        'yield line.split(b"\\t")',
        (f"{TABLES}::test_the_last_column_of_a_windows_file",),
    ),
    Mutant(
        "files/tables.py",
        "the codes of a format are text",
        'if _local(element.tag) in ("seg", "hi", "sub"):',
        "if True:",
        (f"{TABLES}::test_tmx",),
    ),
    Mutant(
        "files/tables.py",
        "the language of TMX is case-sensitive",
        "wanted = column.lower()",
        "wanted = column",
        (f"{TABLES}::test_tmx",),
    ),
    Mutant(
        "files/tables.py",
        "a table is a text",
        "if tabs >= max(FEWEST, MOSTLY * len(lines)) and not is_column(path):",
        "if False:",
        (f"{INIT}::test_a_table_taken_as_a_text_is_refused_with_the_way_to_cut_it",),
    ),
    Mutant(
        "data/pairs.py",
        "a generator is read once",
        "    return list(_iterator(side))\n",
        "    return side\n",
        (f"{PYTHON}::test_two_sides_in_any_form",),
    ),
    Mutant(
        "data/pairs.py",
        "an empty cell of pandas is the word nan",
        '    return ""\n',
        "    return str(text)\n",
        (f"{PYTHON}::test_an_empty_cell_is_a_bad_line",),
    ),
    Mutant(
        "data/inspection/fitting.py",
        "init takes what doctor calls an error",
        'if report.skipped > LOSS["train"] * (report.kept + report.skipped):',
        "if False:",
        (f"{INIT}::test_more_lost_than_kept_is_an_error_as_for_doctor",),
    ),
    Mutant(
        "training/given_pairs.py",
        "a text in the configuration is ignored beside given pairs",
        "        if others:\n",
        "        if False:\n",
        ("training/test_given_pairs.py::test_text_twice_and_bad_pairs_are_refused",),
    ),
    Mutant(
        "training/given_pairs.py",
        "the weights of a mixture are dropped",
        'if set(weights) != {"1"}:',
        "if False:",
        ("training/test_given_pairs.py::test_text_twice_and_bad_pairs_are_refused",),
    ),
    Mutant(
        "training/given_pairs.py",
        "a resumed training has no text unless it is named",
        "if pairs is None and (others or not written):",
        "if pairs is None:",
        ("training/test_given_pairs.py::test_pairs_in_python_train_as_the_same_pairs_in_files",),
    ),
    Mutant(
        "data/inspection/fitting.py",
        "the languages change sides",
        'as_pairs(pairs, "skip"), (source_language, target_language)',
        'as_pairs(pairs, "skip"), (target_language, source_language)',
        ("data/test_config_for_pairs.py::test_it_is_that_of_init",),
    ),
    Mutant(
        "data/inspection/fitting.py",
        "the time of the training is lost",
        'configuration(found, "source", "target", minutes)',
        'configuration(found, "source", "target", 60)',
        ("data/test_config_for_pairs.py::test_it_is_that_of_init",),
    ),
    Mutant(
        "data/inspection/fitting.py",
        "characters are not counted",
        "return max(_for_size(pairs, VOCABULARIES), least)",
        "return _for_size(pairs, VOCABULARIES)",
        ("data/test_config_for_pairs.py::test_every_character_is_a_subword",),
    ),
    Mutant(
        "text/vocabulary.py",
        "the advised vocabulary has no room for the characters",
        "vocabulary.size // 200 * 100, (single + 99) // 100 * 100)",
        "vocabulary.size // 200 * 100)",
        ("data/test_config_for_pairs.py::test_the_advice_for_a_small_vocabulary_can_be_followed",),
    ),
]
