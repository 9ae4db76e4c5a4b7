"""What the doctor finds in planted corpora, and that it finds nothing in a sound one."""

import gzip
import os
import pathlib

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.inspection.doctor import check_data
from rnnsearch_tf.data.phrasebook import phrasebook


@pytest.fixture
def found(write):
    """Findings of a corpus given as (source, target) lines or bytes, as strings."""

    def check(source, target, development=None, texts=(None, None), **options):
        values = {"train_source": write("s", source), "train_target": write("t", target)}
        if development:
            values |= {
                "development_source": write("ds", development[0]),
                "development_target": write("dt", development[1]),
            }
        return [
            str(finding)
            for finding in check_data(
                load_config(values={"data": values | options}), *texts, languages=False
            )
        ]

    return check


@pytest.fixture(scope="module")
def sound():
    return phrasebook(400, 1, "train"), phrasebook(60, 1, "development")


def problems(findings):
    return [finding for finding in findings if not finding.startswith("note: ")]


def test_a_sound_corpus_has_notes_only(found, sound):
    findings = found(*sound[0], development=sound[1])
    assert not problems(findings)
    assert findings[0] == "note: train: 400 lines on both sides"
    assert any("source lengths in words: median" in finding for finding in findings)


def test_every_file_with_too_few_lines_is_named(tmp_path):
    files = {}
    for side, lines in (("source", 3), ("target", 2)):
        files[side] = [tmp_path / f"{part}.{side}" for part in "ab"]
        for number, file in enumerate(files[side]):
            file.write_text("a b c\n" * (lines + number * (side == "source")))
    data = {f"train_{side}": list(map(str, files[side])) for side in files}
    config = load_config(values={"data": data})
    found = [str(finding) for finding in check_data(config, languages=False)]
    for file in files["source"]:
        assert any(each.startswith(f"error: train: {file}:3: expected") for each in found), found


@pytest.mark.parametrize("policy, severity", [("error", "error"), ("skip", "warning")])
def test_broken_lines_are_counted_and_the_rest_still_looked_at(found, policy, severity):
    source = b"a b\n\xff\n\nd e\n" * 3 + b"one more\n"
    findings = found(source, b"x y\n" * 12, on_bad_line=policy)
    assert any(
        f.startswith(f"{severity}: train: ") and ":13: expected as many lines as in" in f
        for f in findings
    )
    assert any(
        f.startswith(f"{severity}: train: 3 of 12 (25 %) of the pairs are not UTF-8: ")
        and ":2: " in f
        for f in findings
    )
    assert any(
        f.startswith(
            f"{severity}: train: 3 of 12 (25 %) of the pairs are empty on one side or both: "
        )
        for f in findings
    )
    assert "note: train: source lengths in words: median 2, 95 % within 2, longest 2" in findings


def test_unreadable_and_unnamed_files_are_findings_not_exceptions(found):
    config = load_config(
        values={"data": {"train_source": "/no/such/file", "train_target": "/no/such/file"}}
    )
    assert [str(f) for f in check_data(config)] == [
        (
            "error: train: data.train_source: /no/such/file: expected a text file, found none;"
            " check the path"
        ),
        (
            "warning: development: no development files are named: no BLEU while training, no best"
            " checkpoint"
        ),
    ]
    assert str(check_data(load_config())[0]).startswith(
        "error: train: data.train_source: expected a text file, got none"
    )
    assert any("expected at least one sentence pair, got none" in f for f in found(b"", b""))


def test_length_limits(found):
    lines = ["a b c"] * 9 + ["a b c d"]
    dropped = [
        f for f in found(lines, lines, maximum_source_length=3) if "left out of training" in f
    ]
    assert dropped == [
        "warning: train: 1 of 10 (10 %) of the pairs are longer than data.maximum_source_length=3"
        " and data.maximum_target_length=50, in words, and left out of training"
    ]
    assert any(
        f.startswith("error: train: 10 of 10") for f in found(lines, lines, maximum_target_length=2)
    )
    assert not any("left out" in f for f in found(lines, lines, maximum_source_length=4))


def test_pairs_of_unequal_length_copies_duplicates_and_strange_line_ends(found, sound):
    source, target = map(list, sound[0])
    target[7] = " ".join(["mot"] * 40)
    source[20:30] = target[20:30]
    source[50:100] = source[100:150]
    target[50:100] = target[100:150]
    source[5] += "\u2028more"
    findings = problems(found(source, target))
    assert any(
        "1 of 400 (0.25 %) of the pairs have one side more than three times as long as the other: "
        in f
        and ":8 (" in f
        for f in findings
    )
    assert any(
        "10 of 400 (2.5 %) of the pairs have the same text on both sides: " in f and ":21;" in f
        for f in findings
    )
    assert any("50 of 400 (12 %) of the pairs are duplicates" in f for f in findings)
    assert len(findings) == 4  # and the missing development files
    assert any("1 pairs contain a character that" in f and ":6" in f for f in found(source, target))


def test_shifted_lines(found, sound):
    source, target = sound[0]
    shifted = [
        f for f in found(source, target[1:] + target[:1]) if "may be shifted or shuffled" in f
    ]
    assert len(shifted) == 1 and shifted[0].startswith(
        "warning: train: lengths of the two sides hardly correlate (correlation "
    )


def test_development_sentences_in_training(found, sound):
    source, target = sound[0]
    findings = found(
        source, target, development=(source[:30] + sound[1][0][:30], target[:30] + sound[1][1][:30])
    )
    assert (
        findings[-1]
        == "warning: development: 30 of 60 (50 %) of the distinct source sentences also occur in"
        " the training text"
    )


def test_of_a_text_larger_than_what_is_remembered(found, sound, monkeypatch):
    """Development sentences are found in all of it; of duplicates and swapped sides the shares are
    those among its first pairs.
    """
    source, target = map(list, sound[0])
    source[10:13], target[10:13] = source[20:23], target[20:23]
    source[3], target[3] = target[3], source[3]
    for module in ("counts", "doctor"):
        monkeypatch.setattr(f"rnnsearch_tf.data.inspection.{module}.REMEMBERED_PAIRS", 50)
    findings = found(source, target, development=(source[300:330], target[300:330]))
    assert any(f.startswith("warning: development: 30 of 30 (100 %) of the") for f in findings)
    for count, kind in (("3 of 50 (6 %)", "are duplicates"), ("1 of 50 (2 %)", "swapped lang")):
        start = f"warning: train: {count} of the pairs among the first 50 "
        assert any(f.startswith(start) and kind in f for f in findings)


def test_vocabulary_coverage_and_token_lengths(found):
    text = pytest.importorskip("rnnsearch_tf.text.pipeline")
    config = load_config(values={"source": {"vocabulary_size": 6, "tokenization": "space"}}).source
    small = text.build_text(config, ["a a a b b b c"])
    findings = found(["a b", "c d e"], ["a b", "a a a"], texts=(small, small))
    assert (
        "warning: train: source vocabulary of 6: 2 of 5 (40 %) of the tokens are unknown"
        in findings
    )
    assert "note: train: target vocabulary of 6: 0 of 5 (0 %) of the tokens are unknown" in findings
    assert "note: train: source lengths in tokens: median 2, 95 % within 3, longest 3" in findings


def test_one_endless_line_does_not_make_a_text_look_shifted(found, sound):
    source, target = map(list, sound[0])
    source[200] = "word " * 9000
    assert not [finding for finding in found(source, target) if "hardly correlate" in finding]
    assert [
        finding
        for finding in found(source[:100] + source[101:], target[:-1])
        if "hardly correlate" in finding
    ]


def test_all_of_the_pairs_are_100_percent(found, sound):
    source = list(sound[0][0])
    assert any(
        "400 of 400 (100 %) of the pairs have the same text on both sides" in finding
        for finding in found(source, source)
    )


def test_swapped_languages_are_seen(found):
    """A hundred of 8,000 pairs, as when two exports were joined the wrong way round."""
    source, target = map(list, phrasebook(8000, 1, "train"))
    places = list(range(40, 8000, 80))[:99] + [7999]
    for place in places:
        source[place], target[place] = target[place], source[place]
    [finding] = [f for f in problems(found(source, target)) if "swapped languages" in f]
    count = int(finding.split("warning: train: ")[1].split()[0])
    assert 95 <= count <= 100 and ":41; " in finding  # a line of names alone says little
    assert not [f for f in found(*phrasebook(8000, 1, "train")) if "swapped languages" in f]


@pytest.mark.parametrize("held_out", [0, 10])
def test_places_in_a_text_of_several_files_name_the_file(tmp_path, held_out):
    """The same line of two files is swapped, and one line of the second is too long."""
    lines = [list(side) for side in phrasebook(8000, 1, "train")]
    for number in (41, 4041):
        lines[0][number], lines[1][number] = lines[1][number], lines[0][number]
    lines[1][4002] = "mot " * 60
    for side, ending in zip(lines, ("en", "fr")):
        for number, part in enumerate((side[:4000], side[4000:])):
            text = "".join(f"{line}\n" for line in part)
            (tmp_path / f"{number}.{ending}").write_text(text, encoding="utf-8")
    data = {"folder": str(tmp_path), "train_source": "?.en", "train_target": "?.fr"}
    config = load_config(values={"data": {"corpus": "files", "held_out": held_out, **data}})
    findings = list(map(str, check_data(config, None, None, languages=False)))
    [swapped] = [finding for finding in findings if "swapped languages" in finding]
    places, left = swapped.removeprefix("warning: train: ").split(" (")[0].split(" of ")
    # pairs that share a sentence with a held-out one are left out too
    assert places == "2" and 8000 - 2 * held_out <= int(left.replace(",", "")) <= 8000 - held_out
    assert f"{tmp_path}/0.en:42; {tmp_path}/1.en:42" in swapped
    [unequal] = [finding for finding in findings if "three times as long" in finding]
    assert f"{tmp_path}/1.en:3 (" in unequal and " and 60 words)" in unequal
    [dropped] = [finding for finding in findings if "longer than data.maximum" in finding]
    assert ", in words, and left out of training" in dropped


def test_a_swapped_pair_does_not_speak_for_itself():
    """Most of its words occur nowhere else; what they add to the counts themselves must not hide
    it.
    """
    from rnnsearch_tf.data.inspection.swapped import swapped

    lines = list(zip(*phrasebook(60, 1, "train")))
    lines[7] = (
        "le xylophone du zouave wallon est vieux",
        "the quick quiz of my buzzing jukebox is old",
    )
    assert swapped(lambda: ((number, *pair) for number, pair in enumerate(lines)), 1000) == [7]


@pytest.mark.corpus
def test_swapped_languages_in_real_text(found):
    folder = (
        pathlib.Path(
            os.environ.get("RNNSEARCH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
        )
        / "data"
        / "tatoeba"
    )
    if not folder.exists():
        pytest.skip("the shared corpora are not here")
    sides = [
        gzip.open(folder / f"train.{language}.gz", "rt", encoding="utf-8").read().split("\n")[:8000]
        for language in ("en", "fr")
    ]
    assert not [f for f in found(*sides) if "swapped languages" in f]
    for place in range(0, 8000, 80):
        sides[0][place], sides[1][place] = sides[1][place], sides[0][place]
    [finding] = [f for f in found(*sides) if "swapped languages" in f]
    assert int(finding.split("warning: train: ")[1].split()[0]) > 85


def test_a_development_text_that_loses_its_pairs_is_an_error(found, sound):
    source, target = map(list, sound[1])
    for place in range(34):
        target[place] = ""
    findings = found(*sound[0], development=(source, target), on_bad_line="skip")
    assert any(
        f.startswith("error: development: 34 of 60 (57 %) of the pairs are lost") for f in findings
    )
    findings = found(*sound[0], development=(source, target[:-1] + ["", ""]), on_bad_line="skip")
    assert any(f.startswith("error: development: ") and "are lost" in f for f in findings)
    target = [*sound[1][1]]
    target[3] = ""
    findings = found(*sound[0], development=(source, target), on_bad_line="skip")
    assert not any(f.startswith("error") for f in findings)
    source, target = map(list, sound[0])
    target[:220] = [""] * 220
    assert any(
        f.startswith("error: train: 220 of 400 (55 %) of the pairs are lost")
        for f in found(source, target, on_bad_line="skip")
    )


def test_lines_that_are_held_out_are_said(tmp_path):
    """So that the counts add up: every line is in one of two parts, as no sentence comes twice."""
    for name in ("s", "t"):
        (tmp_path / name).write_text("".join(f"{name}{number} word\n" for number in range(300)))
    files = {
        "train_source": str(tmp_path / "s"),
        "train_target": str(tmp_path / "t"),
        "held_out": 60,
    }
    found = [str(finding) for finding in check_data(load_config(values={"data": files}))]
    [train] = [
        line
        for line in found
        if line.endswith(
            " lines on both sides, without the pairs that data.held_out takes out for development"
        )
    ]
    [development] = [
        line
        for line in found
        if line.endswith(" lines on both sides, held out of the training text")
    ]
    assert sum(int(line.split()[2]) for line in (train, development)) == 300


def test_which_lengths_are_unequal(found):
    """More than three times as long, and by six words or more."""
    for shorter, longer, said in (
        (3, 9, False),
        (3, 10, True),
        (2, 7, False),
        (1, 7, True),
        (1, 6, False),
        (10, 30, False),
        (10, 31, True),
    ):
        for sides in ((shorter, longer), (longer, shorter)):
            findings = found(*(["mot " * size] * 2 for size in sides))
            assert (
                any("one side more than three times as long" in finding for finding in findings)
                == said
            ), sides


def test_the_length_that_95_percent_have_at_most(found):
    lines = ["w " * length for length in range(1, 101)]
    assert "note: train: source lengths in words: median 50, 95 % within 95, longest 100" in found(
        lines, lines
    )


def test_characters_that_nobody_sees_are_counted(write):
    source = ["a house", "a\u200b house", "the\u00ad door", "a cat\ufeff", "\u200e"] + [
        "می\u200cخواهم"
    ] * 5
    files = {
        "train_source": write("s", source),
        "train_target": write("t", ["x"] * 10),
        "on_bad_line": "skip",
    }
    found = [
        str(f)
        for f in check_data(load_config(values={"data": files}))
        if "invisible characters" in str(f)
    ]
    places = "; ".join(
        f"{files['train_source']}:{number} (U+{code})"
        for number, code in ((2, "200B"), (3, "00AD"), (4, "FEFF"))
    )
    assert (
        len(found) == 1
        and places in found[0]
        and "3 of 9 (33 %) of the source lines have invisible characters" in found[0]
    )
    assert found[0].startswith("note: ")


def test_lines_in_another_normal_form_are_counted(write):
    target = ["été", "e\u0301te\u0301", "a", "…"]
    files = {"train_source": write("s", ["x"] * 4), "train_target": write("t", target)}
    config = load_config(values={"data": files})
    [found] = [str(f) for f in check_data(config) if "normal form" in str(f)]
    assert (
        found.startswith("note: train: 1 of 4 ")
        and f"of the target lines are not in the Unicode normal form NFC: {files['train_target']}:2"
        in found
    )
