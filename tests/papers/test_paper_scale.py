"""The paper's scale on small local copies: what is downloaded, what is checked of it, what is made
of it, and which trainings follow.
"""

import json
import lzma
import pathlib
import subprocess
import sys
import types

import pytest
import sacrebleu
from wmt14_copies import NAMES, QUICK, command, join, known, lines, pack, pairs_of, texts

from papers.__main__ import main as reproduce
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import locked
from papers import downloads
from papers import steps
from papers import wmt14
from papers.downloads import NotDownloaded
from papers.recipes import PAPER_RECIPES
from papers.scales import SCALES
from papers.steps import Step, steps_left
from papers.workspace import Workspace
from rnnsearch_tf.runtime.processes import module_command


def test_the_texts_of_all_archives_stand_one_behind_the_other(data):
    join(data)
    for side, path in enumerate(texts(data).all):
        assert lines(path) == [line for name in NAMES for line in pairs_of(name)[side]]


def test_the_development_text_is_two_test_sets(data):
    downloads.join_test_sets(wmt14.DEVELOPMENT, data / "wmt14", texts(data).development)
    for side, path in enumerate(texts(data).development):
        assert lines(path) == pairs_of("nc", 20)[side] + pairs_of("nc", 21)[side]


def test_a_file_that_was_cut_off_is_named_before_anything_is_made(data, capsys):
    path = data / "wmt14" / wmt14.ARCHIVES[2].name
    path.write_bytes(path.read_bytes()[:-1])
    assert reproduce(command(data)) == 1
    size = path.stat().st_size
    assert (
        f"{path}: expected {size + 1:,} bytes, got {size:,}: it is incomplete; delete it"
        in capsys.readouterr().err
    )
    assert not texts(data).all[0].exists()


def test_a_damaged_file_is_named(data):
    path = data / "wmt14" / wmt14.ARCHIVES[3].name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        UserError,
        match=rf"{path.name}: expected the SHA-256 \w+…, got \w+…: it is damaged; delete it",
    ):
        join(data)
    assert not texts(data).all[0].exists()


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda english, french: french.pop(),
            "expected 60 lines on both sides, got 60 in .*en.* and 59 in .*fr.*; delete it",
        ),
        (
            lambda english, french: (french.pop(), english.pop()),
            "expected 60 lines on both sides, got 59 in .*en.* and 59 in .*fr",
        ),
        (
            lambda english, french: french.__setitem__(7, b"\xe9"),
            "expected text in UTF-8, got 1 of 60 lines of .*fr.* that are not",
        ),
    ],
)
@pytest.mark.parametrize("number", [0, 4])
def test_text_that_is_not_as_expected_is_named(data, number, change, message):
    archive = wmt14.ARCHIVES[number]
    path = data / "wmt14" / archive.name
    sides = pairs_of(NAMES[number])
    change(*sides)
    pack(path, archive.members, sides)
    wmt14.ARCHIVES[number] = known(archive, path)
    with pytest.raises(UserError, match=f"{path.name}: {message}"):
        join(data)
    assert not any(each.exists() for each in texts(data).all)


def test_an_archive_without_the_text_is_named(data):
    path = data / "wmt14" / wmt14.ARCHIVES[0].name
    pack(path, ["training/europarl-v7.de-en.en"], [[b"a"]])
    wmt14.ARCHIVES[0] = known(wmt14.ARCHIVES[0], path)
    with pytest.raises(
        UserError,
        match=(
            rf"{path.name}: expected an archive with training/europarl-v7.fr-en.en in it, got:"
            r" .*not found"
        ),
    ):
        join(data)
    path.write_bytes(b"no archive")
    wmt14.ARCHIVES[0] = known(wmt14.ARCHIVES[0], path)
    with pytest.raises(UserError, match=rf"{path.name}: expected an archive with"):
        join(data)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda text: text[: text.rindex(b"\n", 0, -1) + 1],
            "fr: expected 22 lines, as wmt14 of sacreBLEU has, got 21; delete it",
        ),
        (lambda text: text.replace(b"\n", b"\n\n", 1), "fr: expected 22 lines"),
        (
            lambda text: b"\n" + text[text.index(b"\n") + 1 :],
            "fr:1: expected a sentence in UTF-8, got b''",
        ),
        (lambda text: b"\xe9" + text, "fr:1: expected a sentence in UTF-8, got b'\\xe9"),
    ],
)
def test_a_test_set_that_is_not_as_expected_is_named(data, change, message, capsys):
    path = data / "wmt14" / "newstest2014.fr"
    path.write_bytes(change(path.read_bytes()))
    assert reproduce(command(data)) == 1
    assert f"newstest2014.{message}" in capsys.readouterr().err


def test_an_archive_is_downloaded(server, data):
    archive = wmt14.ARCHIVES[1]
    archive.fetch(data / "wmt14")
    assert (data / "wmt14" / archive.name).read_bytes() == server[archive.url][0]
    assert not list((data / "wmt14").glob("partial-*"))


@pytest.mark.parametrize(
    "fault",
    [lambda content: content[:100], lambda content: b"x" * len(content)],
    ids=["short", "damaged"],
)
def test_a_download_with_a_fault_is_made_once_more(server, data, fault, caplog):
    archive = wmt14.ARCHIVES[1]
    whole = server[archive.url][0]
    server[archive.url].insert(0, fault(whole))
    archive.fetch(data / "wmt14")
    assert (data / "wmt14" / archive.name).read_bytes() == whole
    assert archive.url in caplog.text and "download 1 of 2" in caplog.text


def test_a_download_that_is_never_whole_is_refused(server, data):
    archive = wmt14.ARCHIVES[1]
    server[archive.url][0] = server[archive.url][0][:100]
    with pytest.raises(
        UserError,
        match=(
            rf"{archive.url}: expected [\d,]+ bytes, got 100: it is incomplete, each time of 2; try"
            r" again later"
        ),
    ):
        archive.fetch(data / "wmt14")
    assert not list((data / "wmt14").glob("*nc-v9*"))


def test_what_is_missing_is_said_at_the_first_download(server, data, capsys):
    server[wmt14.ARCHIVES[1].url][0] = OSError("no network")
    for language in ("en", "fr"):
        (data / "wmt14" / f"newstest2013.{language}").unlink()
    assert reproduce(command(data)) == 1
    said = capsys.readouterr().err
    error = said[said.index("error:") :]
    assert (
        "training-parallel-nc-v9.tgz: expected a file that can be downloaded, got: OSError: no"
        " network" in error
    )
    missing = [archive.name for archive in wmt14.ARCHIVES[1:]] + [
        "newstest2013.en",
        "newstest2013.fr",
    ]
    assert (
        f"by hand and run the command again: {', '.join(missing)}; docs/guides/reproduce.md"
        in " ".join(error.split())
    )
    assert (data / "wmt14" / wmt14.ARCHIVES[0].name).exists()
    assert (
        "11 steps before the trainings" in said
        and "5 models to train, about 1072 h 58 min of two cores in all, 18.5 GB" in said
    )


def test_two_commands_do_not_write_the_same_data(data, capsys, monkeypatch):
    """Either would remove and replace what the other has half downloaded or joined."""
    monkeypatch.setattr(wmt14, "join_test_sets", lambda *_: pytest.fail("a step was made"))
    with locked(data):
        assert reproduce(command(data)) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"{data}: expected to be the only process that writes it, got another one; wait" in said


def test_without_mtdata_the_extra_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "mtdata.cache", None)
    with pytest.raises(NotDownloaded, match=r'pip install "rnnsearch-tf\[corpora\]"'):
        wmt14.ARCHIVES[0].fetch(data / "wmt14")


def test_a_test_set_is_what_sacrebleu_says(data, monkeypatch):
    folder = data / "wmt14"
    asked = []
    contents = [path.read_bytes() for path in wmt14.TEST.paths(folder)]
    for path in wmt14.TEST.paths(folder):
        path.unlink()

    def answer(words, capture_output):
        asked.append(words)
        return subprocess.CompletedProcess(words, 0, contents[words[-1] == "ref"], b"")

    monkeypatch.setattr(downloads.subprocess, "run", answer)
    wmt14.TEST.fetch(folder)
    assert [path.read_bytes() for path in wmt14.TEST.paths(folder)] == contents
    assert asked[0] == module_command("sacrebleu", "-t", "wmt14", "-l", "en-fr", "--echo", "src")
    failed = subprocess.CompletedProcess([], 1, b"", b"a\nURLError: none\n")
    monkeypatch.setattr(downloads.subprocess, "run", lambda words, capture_output: failed)
    with pytest.raises(
        NotDownloaded, match="sacrebleu -t wmt14 -l en-fr --echo src: URLError: none"
    ):
        wmt14.TEST.fetch(folder)


def test_sacrebleu_has_the_test_sets():
    from sacrebleu.dataset import DATASETS

    for each in (*wmt14.DEVELOPMENT, wmt14.TEST):
        assert each.name in DATASETS[each.sacrebleu].langpairs["en-fr"][0]


def test_what_is_there_is_not_made_again(data, tmp_path):
    there = tmp_path / "there"
    gone = tmp_path / "gone"
    there.touch()
    chain = [
        Step("a", (gone / "a",), print),
        Step("b", (there,), print, (gone / "a",)),
        Step("c", (gone / "c",), print, (there,)),
    ]

    def left(*wanted):
        return [step.does for step in steps_left(chain, wanted)]

    assert (left(gone / "c"), left(there), left(gone / "a")) == (["c"], [], ["a"])
    there.unlink()
    assert left(gone / "c") == ["a", "b", "c"]
    names = [step.does for step in texts(data).steps_left({50: None})]
    assert len(names) == 4 and "up to 50 words" in names[-1]
    for path in (*texts(data).train, *texts(data).development):
        path.touch()
    for archive in wmt14.ARCHIVES:
        (data / "wmt14" / archive.name).unlink()
    assert [step.does for step in texts(data).steps_left({50: None})] == names[-1:]


def test_a_disk_that_is_too_small_is_named_beforehand(data, tmp_path, monkeypatch):
    monkeypatch.setattr(
        steps.shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=2.5e9)
    )
    steps.check_space([(tmp_path / "a" / "b", 1.0), (tmp_path / "c", 1.4)])
    with pytest.raises(
        UserError, match=f"{tmp_path}: expected 19 GB free on its disk, got 2; free some, or choose"
    ):
        Workspace(tmp_path / "out", data, scale=SCALES["paper"]).steps(
            [(name, 1234) for name in PAPER_RECIPES]
        )


def test_the_trainings_are_those_of_the_paper(data, tmp_path):
    """Section 4.2, Table 2, and docs/scaling.md: two cores reach 76 % of 0.4 TFLOP/s."""
    work = Workspace(tmp_path / "out", data, scale=SCALES["paper"])
    updates = {
        "rnnencdec-30": 846_000,
        "rnnsearch-30": 471_000,
        "rnnencdec-50": 600_000,
        "rnnsearch-50": 288_000,
        "rnnsearch-50-longer": 667_000,
    }
    assert set(updates) == set(PAPER_RECIPES)
    for name, number in updates.items():
        system, longest, *_ = name.split("-")
        config = work.config(name, 7)
        assert (
            config.training.maximum_updates,
            config.training.optimizer,
            config.training.seed,
        ) == (number, "adadelta", 7)
        assert (config.model.system, config.model.hidden_size, config.data.batch_size) == (
            system,
            1000,
            80,
        )
        assert (config.data.maximum_source_length, config.data.maximum_target_length) == (
            int(longest),
            int(longest),
        )
        assert {config.source.vocabulary_size, config.target.vocabulary_size} == {30_001}
        assert not config.target.lowercase and config.target.tokenization == "moses"
        # the updates end it, not the epochs
        assert config.training.epochs * wmt14.SELECTED_PAIRS > 100 * 80
        assert (
            config.data.prepared.endswith(f"ids/up-to-{longest}")
            and config.data.train_source is None
        )
        text = work.config(name, 7, prepared=False)
        files = [
            text.data.train_source,
            text.data.train_target,
            text.data.development_source,
            text.data.development_target,
        ]
        assert [pathlib.Path(text.data.folder) / file for file in files] == [
            *texts(data).train,
            *texts(data).development,
        ]
    assert PAPER_RECIPES["rnnsearch-50"].minutes == pytest.approx(
        288_000 * 555e9 / (0.76 * 0.4e12) / 60, abs=1
    )


def test_a_folder_of_one_scale_is_refused_at_the_other(tmp_path):
    Workspace(tmp_path, "data").begin()
    with pytest.raises(
        UsageError,
        match=(
            r"expected --scale small, with which it was started, got --scale paper; give the same"
            r" again, or choose another --output"
        ),
    ):
        Workspace(tmp_path, "data", scale=SCALES["paper"]).begin()


def test_items_of_the_small_scale_alone_are_named(capsys):
    assert reproduce(["index", "--scale", "paper"]) == 2
    said = capsys.readouterr().err
    assert (
        "expected a table or figure of --scale paper, got index, which only --scale small has;"
        " choose one of bahdanau2015" in said
    )


def test_the_best_words_are_selected_and_become_ids(data):
    from rnnsearch_tf.data.prepared.store import PreparedPairs

    work = Workspace(
        data.parent / "out", data, overrides=["source.vocabulary_size=12"], scale=SCALES["paper"]
    )
    for step in work.steps([("rnnsearch-30", 1234)]):
        step.make()
    english, french = (lines(path) for path in texts(data).train)
    expected = pairs_of("nc")
    assert set(expected[0]) <= set(english), "what looks like the development text is kept"
    words = sum(len(line.split()) for line in french)
    assert 400 - 10 < words <= 400
    together = [[line for name in NAMES for line in pairs_of(name)[side]] for side in (0, 1)]
    assert set(zip(english, french)) <= set(zip(*together))
    prepared = PreparedPairs(data.parent / "out" / "ids" / "up-to-30")
    assert prepared.count == len(english) and prepared.manifest["source"]["vocabulary_size"] == 12
    assert work.steps([("rnnsearch-30", 1234)]) == []


@pytest.mark.slow
def test_the_items_at_the_papers_scale(data, capsys):
    """From the archives to the pages, with tiny models."""
    settings = [word for each in QUICK for word in ("--set", each)]
    assert reproduce(command(data, "all", *settings)) == 0
    out = data.parent / "out"
    pages = {
        item: json.loads((out / f"{item}.json").read_text(encoding="utf-8"))
        for item in SCALES["paper"].items
    }
    assert capsys.readouterr().out.splitlines() == [
        str(out / f"{item}.md") for item in SCALES["paper"].items
    ]
    for row in pages["bahdanau2015-table1"]["ours"]:
        path = out / f"outputs/translations-{row['model']}-1234.json.xz"
        found = json.loads(lzma.decompress(path.read_bytes()))["tokens"]
        references = [line.decode() for line in pairs_of("nc", 22)[1]]
        # case counts
        assert row["All"] == pytest.approx(
            sacrebleu.corpus_bleu(found, [references], tokenize="none", force=True).score
        )
        assert "single captions" not in row
    assert all(
        row["updates"] == 2 and row["training NLL"] > 0
        for row in pages["bahdanau2015-table2"]["ours"]
    )
    assert "--scale paper" in pages["bahdanau2015-table2"]["made"]["command"]
    before = (out / "models/rnnsearch-50-1234/model_card.md").stat().st_mtime_ns
    assert reproduce(command(data, "bahdanau2015-table1", *settings)) == 0
    assert (out / "models/rnnsearch-50-1234/model_card.md").stat().st_mtime_ns == before
