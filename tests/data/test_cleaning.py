"""What `doctor --fix` writes of a text with planted faults, and what the rules find in a line."""

import collections
import dataclasses
import gzip
import html
import os
import pathlib
import unicodedata

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.inspection import cleaning, counts, doctor, foreign, rules
from rnnsearch_tf.data.inspection.doctor import check_data
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UsageError, UserError

SHARED = pathlib.Path(
    os.environ.get("RNNSEARCH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
)


def change(kind, **settings):
    """The change of a kind, for one line."""
    config = dataclasses.replace(load_config().source, **settings)
    [found] = [change for change in rules.changes(config) if change.kind == kind]
    return lambda line: found.apply([line])[0]


def configuration(write, source, target, **options):
    files = {"train_source": write("s.en", source), "train_target": write("t.fr", target)}
    sides = {"source": {"language": "en"}, "target": {"language": "fr"}}
    return load_config(values={"data": files | options, **sides})


def listed(cleaned):
    """{kind: line numbers} of the list of changes, and its rows."""
    rows = [row.split("\t") for row in cleaned.files[2].read_text(encoding="utf-8").split("\n")]
    assert rows[0] == ["file", "line", "kind", "done", "text"] and rows.pop() == [""]
    places = collections.defaultdict(list)
    for _, line, kind, *_ in rows[1:]:
        places[kind].append(int(line))
    return places, rows[1:]


@pytest.fixture(scope="module")
def lines():
    """Distinct pairs of some length, so that nothing is wrong with them."""
    pairs = dict(zip(*phrasebook(600, 1, "train")))
    targets = {target: source for source, target in pairs.items()}
    pairs = [(s, t) for t, s in targets.items() if s != t and len(s.split()) > 3]
    return [list(side) for side in zip(*pairs[:300])]


def test_every_planted_fault_is_cleaned_and_listed(write, lines, tmp_path):
    source, target = (list(side) for side in lines)
    expected = [list(pair) for pair in zip(source, target)]
    source[3] = ""  # before the swapped ones, so that good pairs have other numbers than lines
    target[10] = " \u200b"
    target[20] = source[20]
    source[30], target[30] = source[29], target[29]
    target[40] = "mot " * 400
    target[50] = "Der kleine Hund schläft heute unter dem großen Tisch."
    left_out = {"empty": [4, 11], "copy": [21], "duplicate": [31], "unequal": [41]}
    left_out |= {"language": [51]}
    for place in (60, 61):
        source[place], target[place] = target[place], source[place]
    target[70] = html.escape(target[70]) + " &laquo;&nbsp;fin&#32;&amp;raquo;"
    expected[70][1] += " « fin »"
    source[80] = f"<b>{source[80]}</b><br/>"
    target[90] = unicodedata.normalize("NFD", target[90] + " été")
    expected[90][1] += " été"
    target[100] += "\u202f!\u00ad"
    expected[100][1] += " !"
    gone = {line - 1 for line in sum(left_out.values(), [])}
    pairs = [pair for place, pair in enumerate(expected) if place not in gone]

    cleaned = cleaning.clean_text(configuration(write, source, [*target, "a", "b"]), tmp_path / "x")
    assert [path.name for path in cleaned.files] == ["s.en", "t.fr", "changes.tsv"]
    written = [path.read_bytes().decode().split("\n") for path in cleaned.files[:2]]
    assert [list(pair) for pair in zip(*written)] == [*pairs, ["", ""]]
    places, rows = listed(cleaned)
    changed = {"swapped": [61, 62], "entities": [71], "markup": [81], "form": [91]}
    changed |= {"spaces": [71, 81, 101], "invisible": [101]}
    assert places == left_out | changed | {"unpaired": [301]}
    assert cleaned.read == 302 and cleaned.written == len(pairs)
    assert sum(cleaned.left_out.values()) == len(gone) + 2 and sum(cleaned.changed.values()) == 9
    row = {int(row[1]): row for row in rows}
    # of a line that is changed twice, the text as it was read
    assert [row[4] for row in rows if row[1] == "101"] == [target[100]] * 2
    assert row[51][3] == "left out: the target is in another language, de"
    assert row[51][4] == f"{source[50]} ||| {target[50]}"
    assert row[301][0].endswith("t.fr") and "lines 301 to 302 have no partner" in row[301][3]
    assert row[91] == [row[91][0], "91", "form", "converted", target[90]]


def test_a_blank_line_without_a_partner_names_its_file(write, lines, tmp_path):
    cleaned = cleaning.clean_text(configuration(write, [*lines[0], ""], lines[1]), tmp_path / "x")
    _, [row] = listed(cleaned)
    assert row[0].endswith("s.en") and row[1:3] == ["301", "unpaired"]


def test_a_change_of_a_swapped_line_names_the_file_that_it_comes_from(write, lines, tmp_path):
    source, target = (list(side) for side in lines)
    source[60], target[60] = target[60] + " &eacute;", source[60]
    cleaned = cleaning.clean_text(configuration(write, source, target), tmp_path / "x")
    rows = [(os.path.basename(row[0]), *row[1:3], row[4]) for row in listed(cleaned)[1]]
    assert rows[1] == ("s.en", "61", "entities", source[60])
    assert rows[0] == ("s.en", "61", "swapped", f"{source[60]} ||| {target[60]}")


def test_files_that_exist_stay_and_nothing_appears_of_a_text_without_pairs(write, lines, tmp_path):
    config = configuration(write, *lines)
    (tmp_path / "changes.tsv").write_text("mine")
    with pytest.raises(UserError, match="expected a new file, as --fix overwrites none, found one"):
        cleaning.clean_text(config, tmp_path)
    assert (tmp_path / "changes.tsv").read_text() == "mine"
    with pytest.raises(UserError, match="expected a new file"):  # the text itself
        cleaning.clean_text(config, pathlib.Path(config.data.train_source).parent)
    with pytest.raises(UserError, match="got 2 of which none is left"):
        cleaning.clean_text(configuration(write, ["", "a"], ["b", ""]), tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())


def test_texts_that_cannot_be_cleaned_are_refused_by_name(write, lines, tmp_path):
    files = {"source": write("s", lines[0]), "target": write("t", lines[1])}
    for values, name in (
        ({"data": {"corpus": "phrasebook"}}, "data.corpus=phrasebook"),
        ({"data": {"corpora": [files]}}, "data.corpora"),
        ({"data": {"prepared": str(tmp_path)}}, "data.prepared"),
    ):
        with pytest.raises(UsageError, match=f"got {name};"):
            cleaning.clean_text(load_config(values=values), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_shards_become_one_text_with_the_line_numbers_of_each(write, lines, tmp_path, monkeypatch):
    """Held-out pairs are cleaned with the others. Swapped sides are seen without languages, too."""
    monkeypatch.setattr(cleaning, "side_languages", lambda codes: None)
    source, target = (list(side) for side in lines)
    source[199], target[199] = target[199], source[199]
    target[150] = ""
    for number, cut in enumerate((slice(0, 100), slice(100, None))):
        write(f"{number}.en", source[cut])
        write(f"{number}.fr", target[cut])
    folder = os.path.dirname(write("0.en", source[:100]))
    config = load_config(
        values={
            "data": {
                "folder": folder,
                "train_source": "?.en",
                "train_target": "?.fr",
                "held_out": 30,
            },
            "target": {"language": "fr"},
        }
    )
    cleaned = cleaning.clean_text(config, tmp_path / "x")
    assert [path.name for path in cleaned.files[:2]] == ["train.en", "train.fr"]
    assert cleaned.files[0].read_text(encoding="utf-8").splitlines() == [
        line for place, line in enumerate(lines[0]) if place != 150
    ]
    rows = [(os.path.basename(row[0]), row[1], row[2]) for row in listed(cleaned)[1]]
    assert rows == [("1.en", "51", "empty"), ("1.en", "100", "swapped")]


def test_a_tokenized_side_is_detokenized_as_sacremoses_does(write, tmp_path):
    sacremoses = pytest.importorskip("sacremoses")
    tokenizer, detokenizer = (
        kind(lang="en") for kind in (sacremoses.MosesTokenizer, sacremoses.MosesDetokenizer)
    )
    source, target = phrasebook(60, 1, "train")
    tokens = [tokenizer.tokenize(line, escape=True) for line in source]
    config = configuration(write, map(" ".join, tokens), target)
    found = [str(finding) for finding in check_data(config, languages=False)]
    assert sum("source lines look tokenized" in finding for finding in found) == 1
    assert any("; --fix DIR detokenizes the training text; or set" in finding for finding in found)
    assert not any("target lines look tokenized" in finding for finding in found)
    cleaned = cleaning.clean_text(config, tmp_path / "x")
    written = cleaned.files[0].read_text(encoding="utf-8").splitlines()
    assert set(written) == {detokenizer.detokenize(words) for words in tokens} and len(written) > 40
    space = dataclasses.replace(config.source, tokenization="space")
    config = dataclasses.replace(config, source=space)
    assert not [f for f in check_data(config, languages=False) if "look tokenized" in str(f)]
    cleaned = cleaning.clean_text(config, tmp_path / "y")
    assert not listed(cleaned)[0]["tokenized"]


def test_entities_are_decoded_as_html_does_but_addresses_stay():
    decode = change("entities")
    for line in ("&#39;a&#x27; &lt;b&gt; &eacute; &quot;", "no &", "a &amp; b", "&nbsp;"):
        assert decode(line) == html.unescape(line)
    for line in ("http://a?b=1&copy=2", "&unknown;", "&notit;", "R&D; x", "& amp;"):
        assert decode(line) == line
    assert decode("&amp;lt;b&amp;gt;") == "<b>"


@pytest.mark.parametrize(
    "line, left",
    [
        ('<p class="a">The <b>red</b> car</p>', " The red car "),
        ("one<br>two<BR />three", "one two three"),
        ('see <a href="http://x/y?a=b">this</a>.', "see this."),
        ("<!-- note -->text", "text"),
        ("[the guide](https://example.org/a_b) says", "the guide says"),
        ("[[Main page|The page]] and [[London]]", "The page and London"),
        ("run <command> on <class 'int'> if a < b > c", None),
        ("`x <https://example.org>`_ and ``<b>`` is markup", None),
        ("x[[1, 2]] and a[i](j) and [sic]", None),
        ("1 <2> 3, I <3 you", None),
    ],
)
def test_markup_is_removed_and_what_looks_like_it_stays(line, left):
    assert change("markup")(line) == (line if left is None else left)


def test_doctor_names_markup_entities_and_that_fix_lists_all(write, lines):
    source, target = (list(side) for side in lines)
    for place in range(5):
        target[place] += " &eacute;"
    for place in range(3):
        source[place] += " &eacute;"
    source[7] += " <i>x</i>"
    found = [str(f) for f in check_data(configuration(write, source, target), languages=False)]
    three, entities = (line for line in found if "have HTML entities" in line)
    assert three.endswith("s.en:3")
    assert "warning: train: 5 of 300 (1.7 %) of the target lines" in entities
    assert entities.endswith("t.fr:3; --fix DIR lists all") and "t.fr:4" not in entities
    [markup] = [line for line in found if "have markup" in line]
    assert "1 of 300" in markup and markup.endswith("s.en:8")


def test_lines_in_another_language(write, lines, monkeypatch):
    """Short lines and names are not called wrong; without the library, one note says so."""
    pytest.importorskip("py3langid")
    source, target = (list(side) for side in lines)
    target[5] = "Das Haus am See gehört meiner Schwester."
    source[9] = "Oui."
    config = configuration(write, source, target)
    [found] = [str(f) for f in check_data(config) if "language" in str(f)]
    assert found.startswith("note: train: 1 of 300 (0.33 %) of the target lines are in another")
    assert found.endswith("language than fr: " + config.data.train_target + ":6 (de)")
    for module in (counts, doctor):
        monkeypatch.setattr(module, "LANGUAGE_PAIRS", 5)
    assert not [f for f in check_data(config) if "language" in str(f)]
    for module in (counts, doctor):
        monkeypatch.setattr(module, "LANGUAGE_PAIRS", 6)
    [found] = [str(f) for f in check_data(config) if "language" in str(f)]
    assert "1 of 6 (17 %) of the target lines among the first 6 are in another" in found
    unknown = dataclasses.replace(config, target=dataclasses.replace(config.target, language="xx"))
    [found] = [str(f) for f in check_data(unknown) if "language" in str(f)]
    assert found.startswith("note: train: lines in another language than xx were not looked for")
    monkeypatch.setattr(foreign, "has", lambda module: False)
    [found] = [str(f) for f in check_data(config) if "language" in str(f)]
    assert found.endswith('py3langid: pip install "rnnsearch-tf[languages]"')


def test_one_certain_line_and_one_likely_line_are_swapped_sides():
    pytest.importorskip("py3langid")
    languages = foreign.SideLanguages(("en", "fr"))
    swapped = languages.of(("Gestion de contexte manuelle", "Context manager"))
    assert swapped.others[1] is None and swapped.crossed
    assert not languages.of(("Manual context management", "Gestion de contexte")).crossed
    copied = languages.of(("The house is on the hill.", "*The house is on the hill.*"))
    assert copied.others == (None, "en") and not copied.crossed


def test_lengths_of_languages_without_spaces():
    """Half their characters, so that no pair with English is unequal because of them."""
    assert rules.words("彼女は昨日、新しい本を三冊買いました。", "ja") == 10
    assert rules.words("She bought three new books yesterday.", "en") == 6


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name, language, most",
    [("tatoeba", "en", 0.0), ("tatoeba", "fr", 0.0), ("python-docs", "fr", 0.006)],
)
def test_right_lines_of_real_text_are_not_called_foreign(name, language, most):
    pytest.importorskip("py3langid")
    path = SHARED / "data" / name / f"val.{language}.gz"
    if not path.exists():
        pytest.skip("the shared corpora are not here")
    text = gzip.open(path, "rt", encoding="utf-8").read().splitlines()
    right, wrong = (foreign.SideLanguages(codes) for codes in ((language, "de"), ("de", language)))
    found = [
        sum(languages.of((line, "")).others[0] is not None for line in text)
        for languages in (right, wrong)
    ]
    assert found[0] <= most * len(text) and found[1] > 0.8 * len(text), found
