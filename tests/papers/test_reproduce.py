"""Reproduced tables and figures: the texts, what is measured, what is kept, and the pages."""

import dataclasses
import gzip
import hashlib
import json
import lzma
import pathlib
import types

import pytest
import sacrebleu
from papers_data import multi30k, tatoeba, write_corpus

from papers.__main__ import main as reproduce
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import SPECIAL_TOKENS, TextConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.evaluation.words import tokenized
from papers import bahdanau2015
from papers import items
from papers import luong2015
from papers.corpora import joined, write_joined
from papers.recipes import RECIPES
from papers.scales import SCALES
from papers.workspace import Workspace
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import Vocabulary

QUICK = [
    "training.maximum_updates=2",
    "training.evaluate_every=2",
    "training.evaluate_sentences=4",
    "training.warmup_updates=0",
    "data.batch_size=4",
    "model.hidden_size=8",
    "model.embedding_size=8",
    "search.beam_size=2",
]


def chosen(*names):
    return {name: items.ITEMS[name] for name in names}


def is_made_again_of_measurements_alone(command):
    """Without models, texts and corpora the same pages come, and nothing is trained."""
    folder = pathlib.Path(command[command.index("--output") + 1])
    name = command[0]
    pages = {
        path: path.read_bytes()
        for path in folder.iterdir()
        if path.name.startswith(name) and path.is_file()
    }
    away = folder.with_name("away")
    away.mkdir()
    for part in ("models", "texts", "outputs", "phrase-based", "phrase-based-every-10"):
        if (folder / part).exists():
            (folder / part).rename(away / part)
    for path in pages:
        path.unlink()
    assert reproduce([*command, "--data", "nowhere"]) == 0
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"measured"}
    assert {path: path.read_bytes() for path in pages} == pages and f"{name}.md" in {
        path.name for path in pages
    }
    for part in away.iterdir():
        part.rename(folder / part.name)
    away.rmdir()


def diagonal(kind, train, texts):
    """An aligner that links words at the same place."""
    return [
        [(k, k) for k in range(min(len(source.split()), len(target.split())))]
        for source, target in zip(*texts)
    ]


def read(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_joined_texts_are_the_captions_in_their_order_on_both_sides(tmp_path):
    write_joined(multi30k(tmp_path / "data"), tmp_path, longest=20)
    for part in ("train", "development", "test"):
        english = read(tmp_path / f"{part}.en")
        french = read(tmp_path / f"{part}.fr")
        assert [line.upper() for line in english] == french
    assert max(len(line.split()) for line in read(tmp_path / "train.en")) <= 20
    captions = (
        gzip.decompress((tmp_path / "data/multi30k/test_2016_flickr.en.gz").read_bytes())
        .decode()
        .splitlines()
    )
    expected = [
        " ".join(captions[start : start + size])
        for size in range(1, 6)
        for start in range(0, len(captions) - size + 1, size)
    ]
    assert read(tmp_path / "test.en") == expected
    development = " ".join(read(tmp_path / "development.en"))
    assert (
        gzip.decompress((tmp_path / "data/multi30k/val.en.gz").read_bytes())
        .decode()
        .replace("\n", " ")
        .startswith(development)
    )


def test_pairs_of_exactly_the_longest_length_stay(tmp_path):
    """The groups are the same in every run, so that all pairs can be seen under a limit that none
    reaches.
    """
    data = multi30k(tmp_path / "data")
    write_joined(data, tmp_path, longest=1000)
    every = read(tmp_path / "train.en")
    longest = sorted(len(line.split()) for line in every)[len(every) // 2]  # of one pair at least
    write_joined(data, tmp_path, longest)
    assert read(tmp_path / "train.en") == [line for line in every if len(line.split()) <= longest]


def test_nothing_is_joined_beyond_the_end():
    assert list(joined([("a", "x"), ("b", "y")], iter([1, 2]))) == [("a", "x")]


def test_a_missing_corpus_is_named_before_anything_is_made(tmp_path):
    with pytest.raises(UserError, match=r"expected Multi30k under .*train\.en\.gz.*--data"):
        Workspace(tmp_path / "out", tmp_path / "nowhere").config("rnnsearch-50", 1)
    assert not list((tmp_path / "out" / "texts").iterdir())


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_a_good_configuration(name, tmp_path, monkeypatch):
    monkeypatch.setattr("rnnsearch_tf.alignment.aligners.align", diagonal)
    data = write_corpus(multi30k(tmp_path / "data"))
    if RECIPES[name].pairs:
        tatoeba(data, RECIPES[name].pairs, 501)
    config = Workspace(tmp_path / "out", data).config(name, 7)
    assert config.training.seed == 7
    longest = {"authors": 110, "lstm": 64, "phrase": 70}
    assert RECIPES[name].minutes <= next(
        (longest[word] for word in longest if word in name.split("-")), 30
    )


def test_models_of_the_first_seed_are_trained_once(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1, 2, 3])
    untrained = work.untrained(chosen("bahdanau2015-table1"))
    assert [seed for name, seed in untrained if name == "rnnsearch-50-longer"] == [1] and len(
        untrained
    ) == 4 * 3 + 1


def test_every_item_has_its_models():
    assert all(set(item.models) <= set(RECIPES) for item in items.ITEMS.values())
    assert (
        len(
            {
                name
                for item in items.ITEMS.values()
                for name in item.models
                if not name.startswith("phrasebook")
            }
            - {items.TRAINED_LONGER}
        )
        # eight by the size of the training text, four of the authors' recipe on captions, three of
        # Luong's scores, four LSTMs
        <= 30
    )


def test_what_is_measured_of_a_model_needs_no_model_any_more(tmp_path):
    """Seeds are added one by one; claims are of what other items have measured."""

    def untrained(seeds, *names):
        return Workspace(tmp_path, None, seeds=seeds).untrained(chosen(*names))

    work = Workspace(tmp_path, None, seeds=[1])
    work.note_made("sutskever2014-table1", items.ITEMS["sutskever2014-table1"])
    assert untrained([1], "sutskever2014-table1") == []
    assert untrained([1, 2], "sutskever2014-table1") == [("lstm-forward", 2), ("lstm-reversed", 2)]
    assert ("lstm-forward", 1) in untrained([1, 2], "sutskever2014-table2")
    Workspace(tmp_path, None, seeds=[1, 2]).note_made(
        "sutskever2014-table1", items.ITEMS["sutskever2014-table1"]
    )
    assert untrained([1, 2], "sutskever2014-table1") == []
    Workspace(tmp_path, None, seeds=[1, 2]).note_made(
        "bahdanau2015-table1", items.ITEMS["bahdanau2015-table1"]
    )
    assert untrained([1, 2], "bahdanau2015-table1") == []
    # the model that is trained longer with the first seed is not that of the second
    assert untrained([2], "bahdanau2015-table1") == [("rnnsearch-50-longer", 2)]


def test_models_that_an_item_did_not_have_before_are_trained(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1])
    old = items.ITEMS["bahdanau2015-table1"]
    work.note_made("bahdanau2015-table1", dataclasses.replace(old, models=old.models[:-1]))
    assert work.untrained(chosen("bahdanau2015-table1")) == [(items.TRAINED_LONGER, 1)]


def test_the_seeds_of_a_page_are_those_that_all_its_parts_have(tmp_path):
    """The index takes of RNNsearch-50 only what table, figure and alignments are measured for; an
    item whose name begins like another's is another.
    """
    for item, seeds in (
        ("bahdanau2015-table1", [1, 2, 3]),
        ("bahdanau2015-figure2-documents", [2, 3, 4]),
        ("bahdanau2015-alignment", [1, 3]),
    ):
        Workspace(tmp_path, None, seeds=seeds).note_made(item, items.ITEMS[item])
    work = Workspace(tmp_path, None)

    def measured(name, made_of=()):
        item = dataclasses.replace(items.ITEMS[name], made_of=made_of)
        return work.with_measured_seeds(name, item)

    assert measured("bahdanau2015-figure2") is None
    table = measured("bahdanau2015-table1")
    assert table.seeds == [1, 2, 3]
    assert table.seeds_of("rnnsearch-50") == table.seeds_of("rnnencdec-30") == [1, 2, 3]
    assert table.seeds_of("rnnsearch-50-longer") == [1]
    documents = measured("bahdanau2015-figure2-documents")
    assert documents.seeds_of("documents-rnnsearch") == [2, 3, 4]
    both = measured("bahdanau2015-table1", ("bahdanau2015-table1", "bahdanau2015-alignment"))
    assert both.seeds_of("rnnsearch-50") == [1, 3] and both.seeds_of("rnnencdec-50") == [1, 2, 3]


def test_a_part_that_shows_one_seed_takes_no_seeds_from_the_others(tmp_path):
    names = "sutskever2014-depth", "sutskever2014-table1"
    for name in names:
        Workspace(tmp_path, None, seeds=[1, 2, 3]).note_made(name, items.ITEMS[name])
    item = dataclasses.replace(items.ITEMS[names[0]], made_of=names)
    both = Workspace(tmp_path, None).with_measured_seeds("index", item)
    assert both.seeds_of("lstm-reversed") == [1, 2, 3] and both.seeds_of("lstm-1-layer") == [1]


def test_what_is_measured_only_makes_nothing(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1])
    work.measured("kept", lambda: 5)
    work.output("kept", lambda: [6])
    work.note_made("bahdanau2015-table1", items.ITEMS["bahdanau2015-table1"])
    measured = work.with_measured_seeds("bahdanau2015-table1", items.ITEMS["bahdanau2015-table1"])
    assert measured.measured("kept", list) == 5 and measured.output("kept", list) == [6]
    for make in (
        lambda: measured.measured("other", list),
        lambda: measured.output("other", list),
        lambda: measured.trained_run("rnnsearch-50", 1),
    ):
        with pytest.raises(UserError, match="expected all measurements of a measured item, got"):
            make()
    assert not measured.can_have_phrase_based()


def test_what_another_recipe_has_trained_is_refused(tmp_path):
    work = Workspace(tmp_path, tmp_path)
    work.begin()
    work.measured("trained-cslm-1234", lambda: {"recipe": work._recipe("cslm")})
    work.begin()
    (tmp_path / "measured/trained-cslm-1234.json").write_text(
        '{"recipe": ["multi30k-fr-cslm"]}', encoding="utf-8"
    )
    with pytest.raises(
        UsageError,
        match=(
            r"trained-cslm-1234\.json: expected a model trained by the current recipe of cslm, got"
            r" one trained by another"
        ),
    ):
        work.begin()


@pytest.mark.slow
def test_the_recipe_of_a_model_is_known_once_it_is_trained(tmp_path):
    """So that a model of another recipe is refused even if nothing is measured of it yet."""
    work = Workspace(
        tmp_path,
        None,
        overrides=["training.maximum_updates=1", "data.phrasebook_size=50", "training.average=0"],
    )
    work.trained_run("phrasebook-rnnsearch", 1234)
    kept = json.loads(
        (tmp_path / "measured/trained-phrasebook-rnnsearch-1234.json").read_text(encoding="utf-8")
    )
    assert kept["recipe"] == work._recipe("phrasebook-rnnsearch")


def test_nothing_is_downloaded_for_what_is_measured(tmp_path):
    work = Workspace(tmp_path, tmp_path / "nowhere", scale=SCALES["paper"])
    table1 = {"bahdanau2015-table1": work.scale.items["bahdanau2015-table1"]}
    assert work.steps(work.needed(table1))
    work.note_made("bahdanau2015-table1", table1["bahdanau2015-table1"])
    assert work.steps(work.needed(table1)) == []


def test_measurements_are_made_once(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1, 2])
    made = []
    for _ in range(2):
        assert work.of_each_seed(
            "length", "cslm", lambda work, name, seed: made.append(seed) or {"é": seed}
        ) == [{"é": 1}, {"é": 2}]
    assert made == [1, 2]


def test_several_sentences_in_a_line_are_scored_as_the_model_wrote_them(tmp_path, monkeypatch):
    """A full stop within a line is split off before a capital only: lower-cased text, cut again,
    would be another.
    """
    side = Text(
        TextConfig(language="fr", tokenization="moses", lowercase=True),
        Vocabulary([*SPECIAL_TOKENS, "any"]),
    )
    written = types.SimpleNamespace(
        text="un chat dort. il mange.",
        tokens="un chat dort . il mange .".split(),
        source_tokens=["a"],
    )
    translator = types.SimpleNamespace(target_text=side, translate=lambda sources, **_: [written])
    monkeypatch.setattr(Workspace, "translator", lambda work, name, seed: translator)
    monkeypatch.setattr(
        bahdanau2015,
        "test_text",
        lambda work: (["A cat sleeps. It eats."], ["Un chat dort. Il mange."]),
    )
    work = Workspace(tmp_path, None)
    work.measured("known-rnnsearch-50", lambda: [0])
    monkeypatch.setattr(type(work.texts), "single_sentences", 1)
    [found] = bahdanau2015.measured_bleu(work, "rnnsearch-50", ["rnnsearch-50"])
    assert found["all"] == found["no_unk"] == pytest.approx(100)
    [[bucket, *_]] = bahdanau2015.measured_lengths(work, "rnnsearch-50")
    assert bucket["bleu"] == pytest.approx(100)


def test_without_unknown_words_is_scored_what_a_decoder_without_them_writes(tmp_path, monkeypatch):
    """The second sentence has a word that no model knows: it counts among all, by what the decoder
    writes that may write <unk>.
    """
    side = Text(
        TextConfig(language="fr", tokenization="space"), Vocabulary([*SPECIAL_TOKENS, "any"])
    )
    free = ["un <unk> dort sur le lit", "deux chats dorment sur le lit"]
    forbidden = ["un chat dort sur le lit", "trois chiens mangent ici"]
    asked = []

    def translate(sources, beam_size, allow_unknown=True):
        asked.append((list(sources), beam_size, allow_unknown))
        texts = free if allow_unknown else forbidden
        return [
            types.SimpleNamespace(text=text, tokens=text.split(), source_tokens=["a"])
            for text in texts
        ]

    sources = ["a cat", "two zebras"]
    references = ["un chat dort sur le lit", "deux chats dorment sur le lit"]
    monkeypatch.setattr(
        Workspace,
        "translator",
        lambda work, name, seed: types.SimpleNamespace(target_text=side, translate=translate),
    )
    monkeypatch.setattr(bahdanau2015, "test_text", lambda work: (sources, references))
    work = Workspace(tmp_path, None)
    work.measured("known-rnnsearch-50", lambda: [0])
    monkeypatch.setattr(type(work.texts), "single_sentences", 1)
    [found] = bahdanau2015.measured_bleu(work, "rnnsearch-50", ["rnnsearch-50"])

    def score(texts, texts_of_people):
        return pytest.approx(
            sacrebleu.corpus_bleu(texts, [texts_of_people], tokenize="none", force=True).score
        )

    assert found == {
        "all": score(free, references),
        "short": score(free[:1], references[:1]),
        "no_unk": pytest.approx(100),
        "no_unk_sentences": 1,
    }
    assert found["all"] < 90
    assert sorted(asked, key=lambda each: each[2]) == [(sources, 12, False), (sources, 12, True)]


@pytest.mark.parametrize("lowercase", [True, False])
def test_case_counts_where_the_models_know_it(lowercase):
    side = Text(
        TextConfig(language="fr", tokenization="moses", lowercase=lowercase),
        Vocabulary([*SPECIAL_TOKENS, "any"]),
    )
    work = types.SimpleNamespace(
        translator=lambda name, seed: types.SimpleNamespace(target_text=side)
    )
    found = bahdanau2015._bleu(
        work, "model", 1, ["Le Chat noir dort ici"], ["le chat noir dort ici"]
    )
    expected = sacrebleu.corpus_bleu(
        ["Le Chat noir dort ici"],
        [["le chat noir dort ici"]],
        tokenize="none",
        force=True,
        lowercase=lowercase,
    )
    assert found == pytest.approx(expected.score) and (found == pytest.approx(100)) == lowercase


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "beams.json").write_text('{"1": 2', encoding="utf-8")
    with pytest.raises(
        UserError,
        match=(
            r"beams\.json: expected valid JSON, got: .*; delete it, and the"
            r" made-….json of its item, to make it again"
        ),
    ):
        Workspace(tmp_path, None).measured("beams", lambda: {})


def test_known_words_are_those_of_all_models(tmp_path, monkeypatch):
    """So that every model is scored on the same sentences."""
    lines = ["a b", "b", "c", "a"]
    monkeypatch.setattr(bahdanau2015, "test_text", lambda work: (lines, lines))

    def side(*words):
        return Text(TextConfig(tokenization="space"), Vocabulary([*SPECIAL_TOKENS, *words]))

    sides = {
        "one": (side("a", "b"), side("a", "b", "c")),
        "other": (side("b", "a", "c"), side("b")),
    }
    found = types.SimpleNamespace(
        seeds=[1],
        measured=lambda key, measure: measure(),
        translator=lambda name, seed: types.SimpleNamespace(
            source_text=sides[name][0], target_text=sides[name][1]
        ),
    )
    assert bahdanau2015.known(found, ["one"]) == [0, 1, 3] and bahdanau2015.known(
        found, ["other"]
    ) == [1]
    assert bahdanau2015.known(found, ["one", "other"]) == [1]


def test_an_unknown_word_is_one_token():
    """Moses's rules would make three of it, of which two stand in no reference."""
    side = Text(
        TextConfig(language="fr", tokenization="moses", lowercase=True),
        Vocabulary([*SPECIAL_TOKENS, "any"]),
    )
    assert tokenized(side, ["Un homme devant un <unk>.", "<unk> a < b > c"]) == [
        "un homme devant un <unk> .",
        "<unk> a < b > c",
    ]


def test_table_1_of_bahdanau_takes_the_phrase_based_systems_minutes(tmp_path, monkeypatch):
    work = Workspace(tmp_path, tmp_path)
    for installed in (True, False):
        monkeypatch.setattr(
            Workspace, "can_have_phrase_based", lambda self, installed=installed: installed
        )
        minutes = {
            name: work.phrase_based_minutes(chosen(name))
            for name in ("bahdanau2015-table1", "cho2014-table1", "bahdanau2015-table2")
        }
        assert list(minutes.values()) == [15 * installed, 30, 0]


def overrides(more=()):
    return [word for each in (*QUICK, *more) for word in ("--set", each)]


def test_what_was_made_with_other_settings_is_not_shown_as_ones_own(tmp_path):
    Workspace(tmp_path, tmp_path, overrides=["training.maximum_updates=2"]).begin()
    Workspace(tmp_path, tmp_path, overrides=["training.maximum_updates=2"]).begin()
    with pytest.raises(
        UsageError,
        match=(
            r"expected --scale small --set training.maximum_updates=2, with which it was started,"
            r" got --scale small; give the same again, or choose another --output"
        ),
    ):
        Workspace(tmp_path, tmp_path).begin()


def test_a_refused_command_leaves_nothing(tmp_path, capsys):
    """A setting that is wrong is refused before a missing text, and decides nothing later."""
    output = tmp_path / "out"
    command = ["sutskever2014-figure2", "--output", str(output), "--data", str(tmp_path / "none")]
    assert reproduce([*command, "--set", "training.maximum_minutes=abc"]) == 2
    assert "training.maximum_minutes" in capsys.readouterr().err
    assert reproduce(command) == 1
    assert "expected a text file, found none" in capsys.readouterr().err
    assert not output.exists()


def test_what_was_made_of_other_texts_is_not_shown_as_ones_own(tmp_path):
    """A corpus may be elsewhere later, or nowhere; it may not be another."""
    output = tmp_path / "out"
    data = multi30k(tmp_path / "data")
    for folder in (tmp_path / "nowhere", data, multi30k(tmp_path / "moved"), tmp_path / "nowhere"):
        Workspace(output, folder).begin()
    other = multi30k(tmp_path / "other", captions=30)
    with pytest.raises(
        UsageError,
        match=(
            r"expected the corpora with which it was started, got another train\.en\.gz, another"
            r" train\.fr\.gz, .* under .*other"
        ),
    ):
        Workspace(output, other).begin()
    assert (
        json.loads((output / "corpora.json").read_text(encoding="utf-8"))["val.fr.gz"]
        == hashlib.sha256((data / "multi30k/val.fr.gz").read_bytes()).hexdigest()
    )


def test_an_unknown_item_is_refused_with_the_nearest(capsys):
    assert reproduce(["bahdanau-figure2"]) == 2
    assert (
        "expected a table or figure, or all, got bahdanau-figure2; did you mean"
        " bahdanau2015-figure2?" in capsys.readouterr().err
    )


def test_missing_captions_are_said_before_anything_is_trained(tmp_path, capsys):
    assert (
        reproduce(
            ["sutskever2014-table1", "--data", str(tmp_path), "--output", str(tmp_path / "out")]
        )
        == 1
    )
    assert "multi30k/train.en.gz: expected a text file, found none" in capsys.readouterr().err
    assert not (tmp_path / "out" / "models").exists()


@pytest.mark.slow
def test_an_item_on_the_built_in_corpus(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        items.ITEMS,
        "luong2015-attention",
        items.Item("attention", ("phrasebook-dot",), luong2015.attention),
    )
    command = [
        "luong2015-attention",
        "--output",
        str(tmp_path / "out"),
        *overrides(["data.phrasebook_size=50"]),
    ]
    assert reproduce(command) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "out/luong2015-attention.md")
    found = json.loads((tmp_path / "out/luong2015-attention.json").read_text(encoding="utf-8"))
    [row] = found["ours"]
    assert row["AER"] == pytest.approx(error_rate_by_the_verbs(tmp_path / "out", capsys), abs=1e-4)
    assert "--set model.hidden_size=8" in found["made"]["command"]
    trained = (tmp_path / "out/models/phrasebook-dot-1234/model_card.md").stat().st_mtime_ns
    assert reproduce(command) == 0
    assert (tmp_path / "out/models/phrasebook-dot-1234/model_card.md").stat().st_mtime_ns == trained
    is_made_again_of_measurements_alone(command)


def error_rate_by_the_verbs(folder, capsys):
    """What `rnnsearch align` and `rnnsearch aer` say of the same sentences."""
    from rnnsearch_tf.data.phrasebook import phrasebook, phrasebook_alignments

    seed = 1
    texts = phrasebook(500, seed, "test")
    gold = phrasebook_alignments(500, seed, "test")
    for name, lines in zip(
        ("source", "target", "gold"),
        (*texts, [" ".join(f"{s}-{t}" for s, t in links) for links in gold]),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run(
        [
            "align",
            "--model",
            str(folder / "models/phrasebook-dot-1234"),
            str(folder / "source"),
            str(folder / "target"),
        ]
    )
    (folder / "links").write_text(capsys.readouterr().out, encoding="utf-8")
    run(["aer", str(folder / "gold"), str(folder / "links")])
    return float(capsys.readouterr().out.split()[1])


@pytest.mark.slow
def test_the_items_of_bahdanau_2015(tmp_path, monkeypatch, capsys):
    names = "rnnencdec-50", "rnnsearch-50"
    for item in ("table1", "table2", "figure2", "table3"):
        old = items.ITEMS[f"bahdanau2015-{item}"]
        monkeypatch.setitem(
            items.ITEMS, f"bahdanau2015-{item}", items.Item(old.shows, names, old.make)
        )
    data = multi30k(tmp_path / "data")
    folder = tmp_path / "out"
    for item in ("table1", "table2", "figure2", "figure3", "table3"):
        command = [
            f"bahdanau2015-{item}",
            "--output",
            str(folder),
            *overrides(["model.maxout_size=8"]),
        ]
        assert reproduce([*command, "--data", str(data)]) == 0
        is_made_again_of_measurements_alone(command)
    pages = {
        item: json.loads((folder / f"bahdanau2015-{item}.json").read_text(encoding="utf-8"))["ours"]
        for item in ("table1", "table2")
    }
    # with the extra smt there is a phrase-based system too
    rows = [row for row in pages["table1"] if row["model"] in names]
    assert len(rows) == len(names)
    for row in rows:
        path = folder / f"outputs/translations-{row['model']}-1234.json.xz"
        texts = json.loads(lzma.decompress(path.read_bytes()))["tokens"]
        references = [line.lower() for line in read(folder / "texts/up-to-50/test.fr")]
        assert row["All"] == pytest.approx(
            sacrebleu.corpus_bleu(
                texts, [references], tokenize="none", force=True, lowercase=True
            ).score
        )
    assert all(row["updates"] == 2 and row["training NLL"] > 0 for row in pages["table2"])
    assert (folder / "bahdanau2015-figure2-curves.png").read_bytes().startswith(b"\x89PNG")
