"""A RUN with truecasing and byte-pair codes in the verbs and exports; its links are of words."""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import sacremoses
from tiny_run import SETTINGS, write_run

from rnnsearch_tf.alignment.links import word_alignment, word_shares
from rnnsearch_tf.alignment.tokens import WordLinks
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import UNKNOWN_ID
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.confidence import Calibration
from rnnsearch_tf.export.confidence import confidences
from rnnsearch_tf.export.graph_export import export_graph
from rnnsearch_tf.extras.onnx.writer import ONNX
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import strings
from rnnsearch_tf.translation import Translator

SOURCE = [
    "The door is white.",
    "Where is the white xylophone?",
    "",
    "She reads an old book.",
    "zebra",
]
TARGET = ["La porte est blanche.", "Où sont les zèbres ?", "", "Elle lit un vieux livre.", "zèbre"]


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """``section.key=value`` of both sides, with files that are learned from the phrasebook."""
    pytest.importorskip("subword_nmt")
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "text"))
    from reference_rules import learned_codes, learned_truecaser

    folder = tmp_path_factory.mktemp("rules")
    options = []
    for side, lines in zip(("source", "target"), phrasebook(200, 1, "train")):
        tokenizer = sacremoses.MosesTokenizer("en" if side == "source" else "fr")
        rows = [tokenizer.tokenize(line, escape=False) for line in lines]
        learned_truecaser(rows, folder / f"{side}.truecase")
        codes = learned_codes([[word.lower() for word in row] for row in rows], 40)
        (folder / f"{side}.codes").write_text(codes, encoding="utf-8")
        options.append(f"{side}.bpe_codes={folder}/{side}.codes")
        options.append(f"{side}.truecase={folder}/{side}.truecase")
    return options


@pytest.fixture(scope="module")
def coded_run(options, tmp_path_factory):
    folder = tmp_path_factory.mktemp("coded") / "run"
    return write_run(folder, [*options, "data.maximum_source_length=30"], unknown_words=-4.0)


def groups(pieces):
    """Piece positions of each word."""
    words = []
    goes_on = False
    for place, piece in enumerate(pieces):
        if goes_on:
            words[-1].append(place)
        else:
            words.append([place])
        goes_on = piece.endswith("@@")
    return words


def expected_links(matrix, sides):
    """For each target word, the source word with the most attention, summed over its pieces."""
    found = []
    for i, rows in enumerate(sides[1]):
        weights = [sum(matrix[row][j] for row in rows for j in columns) for columns in sides[0]]
        if weights:
            found.append((weights.index(max(weights)), i))
    return " ".join(f"{j}-{i}" for j, i in sorted(found))


def test_links_are_of_words(rnnsearch, coded_run, files):
    hard, _ = rnnsearch("align", "--model", coded_run, *files)
    soft, _ = rnnsearch("align", "--model", coded_run, "--soft", *files)
    pieces, _ = rnnsearch("align", "--model", coded_run, "--pieces", *files)
    split = 0
    for number, fields in enumerate(map(json.loads, soft)):
        names = [fields[name][:-1] for name in ("source_tokens", "target_tokens")]
        sides = [groups(side) for side in names]
        assert hard[number] == expected_links(fields["alignment"], sides)
        ones = [[[place] for place in range(len(side))] for side in names]
        assert pieces[number] == expected_links(fields["alignment"], ones)
        split += sum(map(len, names)) - sum(map(len, sides))
    assert split > 10


def test_links_of_words_without_joints(rnnsearch, coded_run, tmp_path):
    """A line whose words are all whole pieces still has several words."""
    paths = [tmp_path / "source", tmp_path / "target"]
    for path, line in zip(paths, (". . ?", "? . .")):
        path.write_text(line + "\n")
    [soft], _ = rnnsearch("align", "--model", coded_run, "--soft", *paths)
    fields = json.loads(soft)
    assert not any("@@" in token for token in fields["source_tokens"] + fields["target_tokens"])
    [hard], _ = rnnsearch("align", "--model", coded_run, *paths)
    assert hard == expected_links(fields["alignment"], [[[0], [1], [2]]] * 2)


def test_links_of_given_tokens(rnnsearch, coded_run, files):
    files[0].write_text("The door is n't white .\n\n")
    files[1].write_text("La porte n&apos; est pas blanche .\n\n")
    hard, _ = rnnsearch("align", "--model", coded_run, "--tokenized", *files)
    soft, _ = rnnsearch("align", "--model", coded_run, "--tokenized", "--soft", *files)
    fields = json.loads(soft[0])
    sides = [groups(fields[name][:-1]) for name in ("source_tokens", "target_tokens")]
    assert [len(side) for side in sides] == [6, 7]
    assert hard == [expected_links(fields["alignment"], sides), ""]


def test_a_lexicon_of_pieces_is_refused(rnnsearch, coded_run, files):
    _, error = rnnsearch("align", "--model", coded_run, "--lexicon", *files, code=2)
    assert "--lexicon: expected a model of words, got one of subword pieces" in error


def test_links_of_a_corpus_number_words(coded_run):
    """A link of two words links all their pieces."""
    translator = Translator.load(coded_run)
    texts = translator.source_text, translator.target_text
    links = WordLinks(texts)
    lines = SOURCE[3], TARGET[3]
    tokens = [strings(text.tokenize([line]))[0] for text, line in zip(texts, lines)]
    ids = [np.array(text.encode([line]).to_list()[0]) for text, line in zip(texts, lines)]
    sides = [groups(side) for side in tokens]
    assert any(len(word) > 1 for side in sides for word in side)
    last = len(sides[0]) - 1, len(sides[1]) - 1
    found = links.read(f"1-0 {last[0]}-{last[1]}", "f:1", ids)
    assert sorted(map(tuple, links.token_links(found, ids).tolist())) == sorted(
        (j, i) for s, t in ((1, 0), last) for j in sides[0][s] for i in sides[1][t]
    )
    with pytest.raises(UserError, match=f"links of the {last[1] + 1} target words, from 0"):
        links.read(f"0-{last[1] + 1}", "f:1", ids)
    empty = [np.array([1])] * 2
    assert links.token_links(links.read("", "f:1", empty), empty).size == 0


def test_links_after_an_unknown_piece_are_left_out(coded_run):
    """It may end its word or not: a wrong count would shift all later links."""
    translator = Translator.load(coded_run)
    texts = translator.source_text, translator.target_text
    links = WordLinks(texts)
    lines = SOURCE[3], TARGET[3]
    ids = [np.array(text.encode([line]).to_list()[0]) for text, line in zip(texts, lines)]
    sides = [groups(strings(text.tokenize([line]))[0]) for text, line in zip(texts, lines)]
    words = len(sides[1])
    split = next(word for word in sides[1] if len(word) > 1)
    number = sides[1].index(split)
    ids[1][split[0]] = UNKNOWN_ID
    found = links.read(" ".join(f"0-{word}" for word in range(words)), "f:1", ids)
    assert sorted(map(tuple, links.token_links(found, ids).tolist())) == sorted(
        (j, i)
        for j in sides[0][0]
        for i in (*(i for word in sides[1][:number] for i in word), split[0])
    )


def test_confidence_of_words_is_that_of_their_pieces(coded_run):
    translator = Translator.load(coded_run)
    calibration = Calibration([0.1, -0.2, 0.3, -0.4], [0.5, 0.6, -0.7], 50, "")
    [pair] = translator.score_targets(SOURCE[3:4], TARGET[3:4])
    logs = pair.token_log_probabilities
    [found] = calibration(translator, SOURCE[3:4], TARGET[3:4])
    sums = [sum(logs[place] for place in word) for word in groups(pair.target_tokens)]
    words = TARGET[3].split()  # as the tokens, but for the period, which belongs to the last word
    assert len(sums) == len(words) + 1
    sums[-2:] = [sums[-2] + sums[-1]]
    expected = 1 / (1 + np.exp(-(0.5 + 0.6 * np.array(sums) - 0.7 * logs.mean())))
    assert [word for word, _ in found.words] == words
    np.testing.assert_allclose([p for _, p in found.words], expected, rtol=1e-6)
    text = translator.target_text
    tokens = text.tokenize(TARGET[3:4])
    served = confidences(calibration, text, logs[np.newaxis].astype("float32"), tokens, TARGET[3:4])
    numbers = json.loads(served["word_confidences"].numpy()[0])
    np.testing.assert_allclose(numbers, expected, atol=1e-5)


def test_shares_of_pieces_with_sentencepieces_mark_in_a_word():
    from rnnsearch_tf.alignment.links import with_word_starts

    pieces = with_word_starts(["a▁@@", "b", "c"])
    assert word_shares(pieces).tolist() == [[1, 0], [1, 0], [0, 1]]
    assert word_alignment(np.eye(4), word_shares(pieces)).shape == (4, 3)


@pytest.mark.parametrize("format", ["onnx", "litert", "web"])
def test_a_file_without_tensorflow_is_refused(rnnsearch, coded_run, tmp_path, format):
    output = tmp_path / "model"
    words = ["export", "--format", format, "--model", coded_run, "--output", output]
    if format == "web":
        names = ["ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"]
        (tmp_path / "web" / "dist").mkdir(parents=True)
        for name in names:
            (tmp_path / "web" / "dist" / name).write_bytes(b"x")
        package = '{"name": "onnxruntime-web", "version": "1.30.0"}'
        (tmp_path / "web" / "package.json").write_text(package)
        words += ["--onnxruntime-web", tmp_path / "web"]
    _, error = rnnsearch(*words, code=1)
    assert "expected a model without source.truecase" in error and "SavedModel" in error
    assert not output.exists()


def test_each_rule_of_each_side_is_refused(options, tmp_path):
    for number, option in enumerate(options):
        folder = write_run(tmp_path / str(number), [option])
        with pytest.raises(UserError, match=f"without {option.partition('=')[0]}, which"):
            export_graph(ONNX, folder, tmp_path / "model")


def test_a_damaged_copy_is_found(coded_run, options, tmp_path):
    folder = Run(write_run(tmp_path / "run", options))
    path = folder.bpe_codes("target")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="target.bpe.codes: expected the file that training wrote"):
        folder.verify()
    path.unlink()
    with pytest.raises(UserError, match="target.bpe.codes: expected BPE codes, got: No such file"):
        Translator.load(folder)


@pytest.mark.slow
def test_train_translate_and_export(capsys, options, files, tmp_path):
    """The codes may be gone after training; an export answers as the RUN in a fresh process."""

    def rnnsearch(*words):  # not the fixture, which loads a model in one precision only
        assert run([str(word) for word in words]) == 0
        return capsys.readouterr().out.splitlines()

    copies = []
    for option in options:
        name, _, path = option.partition("=")
        copy = tmp_path / name
        shutil.copy(path, copy)
        copies.append(f"{name}={copy}")
    settings = [*SETTINGS, *copies, "training.maximum_updates=3", "data.maximum_source_length=40"]
    words = [word for setting in settings for word in ("--set", setting)]
    rnnsearch("train", "--config", "phrasebook", "--output", tmp_path / "run", *words)
    for copy in copies:
        pathlib.Path(copy.partition("=")[2]).unlink()
    tokens = Translator.load([tmp_path / "run"]).target_text.vocabulary.tokens
    assert any(token.endswith("@@") for token in tokens) and "la" in tokens
    expected = rnnsearch("translate", "--model", tmp_path / "run", files[0])
    assert not any("@@" in line for line in expected)
    more = ["--set", "signatures=[translate, translate_aligned]", "--set", "warmup_requests=0"]
    rnnsearch("export", "--model", tmp_path / "run", "--output", tmp_path / "served", *more)
    command = [sys.executable, "-m", "rnnsearch_tf", "translate", "--model", tmp_path / "served"]
    found = subprocess.run([*command, files[0]], capture_output=True, text=True)
    assert found.stdout.splitlines() == expected, found.stderr
    links = [
        rnnsearch("translate", "--model", tmp_path / model, "--alignment", "hard", files[0])
        for model in ("run", "served")
    ]
    assert links[0] == links[1]
    assert [line.partition("\t")[0] for line in links[0]] == expected
    rnnsearch(
        "train", "--output", tmp_path / "run", "--resume", "--set", "training.maximum_updates=4"
    )


@pytest.mark.slow
def test_a_preset_keeps_the_rules(coded_run, tmp_path):
    keras_nlp = pytest.importorskip("keras_nlp")
    from rnnsearch_tf.extras.hub import run_to_preset

    run_to_preset(coded_run, tmp_path / "preset")
    model = keras_nlp.models.Seq2SeqLM.from_preset(str(tmp_path / "preset"))
    expected = Translator.load(coded_run)
    text = model.preprocessor.tokenizer.text
    assert text.same_as(expected.target_text)
    assert strings(text.tokenize(TARGET)) == strings(expected.target_text.tokenize(TARGET))
