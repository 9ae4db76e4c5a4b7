"""Files of others: nothing in them runs, damage and other programs' files end in a clear error."""

import collections
import importlib
import io
import json
import os
import pathlib
import pickle
import random
import shutil
import zipfile

import numpy as np
import pytest
from imported_models import options_changed, FIXTURES, MODELS, files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.importing import pickles, vocabularies
from rnnsearch_tf.extras.importing.foreign import built
from rnnsearch_tf.extras.importing.importer import READERS, describe, import_model
from rnnsearch_tf.extras.importing.npz import NpzFile
from rnnsearch_tf.extras.importing.pickles import read_pickle
from rnnsearch_tf.extras.importing.torch_file import TorchFile
from rnnsearch_tf.extras.importing.vocabularies import read_dictionary, read_words

ONE_OF_EACH = ["nematus-wmt17", "marian-s2s", "joeynmt-lstm-last"]


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_runs_nothing(tmp_path, protocol):
    path, made = tmp_path / "vocab.pkl", tmp_path / "made"
    path.write_bytes(pickle.dumps({"a": 1, "b": Evil(str(made))}, protocol))
    with pytest.raises(UserError, match="refused: expected dictionaries, lists"):
        read_pickle(path)
    assert not made.exists()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_pickles_of_plain_values(tmp_path, protocol):
    value = {"le": 3, "état": 4, "list": [1, 2.5, None, True, (1, "x")], "big": 1 << 40}
    path = tmp_path / "state.pkl"
    path.write_bytes(pickle.dumps(value, protocol))
    assert read_pickle(path) == value


def test_strings_of_python_2(tmp_path):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(b"(dp0\nS'\\xc3\\xa9t\\xc3\\xa9'\np1\nI7\ns.")
    assert read_pickle(path) == {"été": 7}


def ordered(words):
    """An OrderedDict as Python 2 pickles it: of a list of lists."""
    pairs = [f"(lS{repr(word.encode())[1:]}\naI{number}\naa" for word, number in words.items()]
    return f"ccollections\nOrderedDict\np0\n((l{''.join(pairs)}tp1\nRp2\n.".encode()


def test_the_dictionaries_of_dl4mt(tmp_path):
    """Options and vocabularies are pickles of Python 2, the vocabularies of an OrderedDict."""
    weights, *others = files_of("nematus-plain")
    files = [weights]
    for path, pickled in zip(others, (lambda tree: pickle.dumps(tree, 0), ordered, ordered)):
        tree = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        files.append(str(tmp_path / f"{pathlib.Path(path).stem}.pkl"))
        pathlib.Path(files[-1]).write_bytes(pickled(tree))
        assert read_pickle(files[-1]) == tree
    found, expected = (describe("nematus", each) for each in (files, [weights, *others]))
    assert found.target.tokens == expected.target.tokens and found.values == expected.values


@pytest.mark.parametrize("protocol", [0, 1, 2, 3])
def test_an_ordered_dictionary_of_python_3(tmp_path, protocol):
    value = collections.OrderedDict(b=1, a=2)
    path = tmp_path / "vocab.pkl"
    path.write_bytes(pickle.dumps(value, protocol))
    assert read_pickle(path) == dict(value)


def test_no_copies_of_an_ordered_dictionary(tmp_path):
    """A few bytes could make another copy of a large dictionary each."""
    path = tmp_path / "vocab.pkl"
    again = ordered({"a": 1})[:-1] + b"g0\ng1\nRl."
    path.write_bytes(b"(" + again)
    assert read_pickle(path) == [{"a": 1}, {}]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"ccollections\nCounter\n(tR.", r"got the instruction GLOBAL b'collections\\nCounter"),
        (b"ccollections.abc\nOrderedDict\n(tR.", "got the instruction GLOBAL"),
        (b"(icollections\nOrderedDict\n.", "got the instruction INST"),
        (b"ccollections\nOrderedDict\n(I1\ntR.", "damaged or other file"),
        (b"ccollections\nOrderedDict\n(I1\nI2\ntR.", "damaged or other file"),
        (b"ccollections\nOrderedDict\n(S'a'\ntR.", "damaged or other file"),
        (b"(S'a'\n(tR.", "damaged or other file"),
    ],
)
def test_nothing_but_an_ordered_dictionary_is_called(tmp_path, data, message):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        read_pickle(path)


def test_a_pickle_that_reserves_memory(tmp_path):
    """An empty list as value number 2,147,483,647, for which unpickling reserves 16 GB."""
    path = tmp_path / "vocab.pkl"
    path.write_bytes(b"\x80\x02]r\xff\xff\xff\x7f.")
    with pytest.raises(UserError, match=r"numbers of values up to 16,777,216, got 2,147,483,647"):
        read_pickle(path)


def test_a_pickle_of_many_values(tmp_path, monkeypatch):
    """Each byte of a pickle can make a value of 56 bytes."""
    path = tmp_path / "vocab.pkl"
    monkeypatch.setattr(pickles, "MOST_INSTRUCTIONS", 1000)
    path.write_bytes(b"\x80\x02(" + b"]" * 1000 + b"l.")
    with pytest.raises(UserError, match="refused: expected at most 1,000 instructions"):
        read_pickle(path)
    path.write_bytes(pickle.dumps({f"word{k}": k for k in range(200)}, 2))
    assert len(read_pickle(path)) == 200


def test_a_pickle_of_nested_tuples(tmp_path):
    """The hash of ten million nested tuples exhausts the stack: the process would end."""
    path = tmp_path / "vocab.pkl"
    path.write_bytes(b"\x80\x02})" + b"\x85" * 10_000_000 + b"K\x01s.")
    with pytest.raises(UserError, match="refused: .* and 10,000 tuples, got more at byte"):
        read_pickle(path)


def test_a_pickle_of_a_long_number(tmp_path):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(pickle.dumps({"dim": 10**5000}, 2))
    with pytest.raises(UserError, match="refused: expected .* got the instruction LONG4"):
        read_pickle(path)


def test_vocabularies_of_too_many_values(tmp_path, monkeypatch):
    monkeypatch.setattr(vocabularies, "MOST_TOKENS", 3)
    path = tmp_path / "vocab.yml"
    path.write_text("a: 1\n" * 4, encoding="utf-8")  # one word, as a dictionary
    with pytest.raises(UserError, match="more than 3 words"):
        read_words(path)
    path.write_text("[[], [], []]", encoding="utf-8")
    with pytest.raises(UserError, match="more than 3 lists and dictionaries"):
        read_dictionary(path)


@pytest.mark.parametrize("data", [b"", b"abc", pickle.dumps({"a": 1})[:-3], b"." * 9])
def test_damaged_pickles(tmp_path, data):
    path = tmp_path / "vocab.pkl"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"vocab\.pkl: (refused: )?expected"):
        read_pickle(path)


def rewritten(source, target, change):
    """A copy of a zip archive with another description: change(bytes of data.pkl) → bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, change(data) if entry.filename.endswith("data.pkl") else data)


def test_a_checkpoint_runs_nothing(tmp_path):
    """An object of another class is ignored, its function is not called."""
    path, made = tmp_path / "best.ckpt", tmp_path / "made"
    checkpoint = files_of("joeynmt-lstm-last")[0]
    evil = pickle.dumps({"model_state": {}, "x": Evil(str(made))}, 2)
    rewritten(checkpoint, path, lambda data: evil)
    assert TorchFile(path, "model_state").shapes == {}
    assert not made.exists()


def test_a_tensor_beyond_its_storage(tmp_path):
    path = tmp_path / "best.ckpt"
    name = "decoder.att_vector_layer.bias"
    original = TorchFile(files_of("joeynmt-lstm-last")[0], "model_state")
    size = original.shapes[name][0]
    rewritten(
        files_of("joeynmt-lstm-last")[0],
        path,
        lambda data: data.replace(b"K" + bytes([size]) + b"\x85", b"K\xff\x85"),
    )
    with pytest.raises(UserError, match=f"{name}: expected an array, .*10 numbers for .255,"):
        TorchFile(path, "model_state")


@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_end_in_an_error_of_one_line(name, seed, tmp_path):
    """Bytes that are changed, cut off or put in: the model is as before, or there is an error."""
    random_ = random.Random(seed)
    expected = built(describe(MODELS[name], files_of(name)))[0].get_weights()
    for number, original in enumerate(files_of(name) * 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        files = [shutil.copy(path, folder) for path in files_of(name)]
        damaged = files[files_of(name).index(original)]
        data = bytearray(open(damaged, "rb").read())
        for _ in range(random_.choice([1, 20])):
            data[random_.randrange(len(data))] = random_.randrange(256)
        if random_.random() < 0.3:
            del data[random_.randrange(len(data)) :]
        with open(damaged, "wb") as file:
            file.write(data)
        try:
            found = built(describe(MODELS[name], files))[0].get_weights()
        except UserError as error:  # UsageError is one
            assert "\n" not in str(error)
        else:
            assert [array.shape for array in found] == [array.shape for array in expected]


def test_arrays_of_objects_are_not_read(tmp_path):
    path = tmp_path / "model.npz"
    made = tmp_path / "made"
    np.savez(path, W=np.ones((2, 3)), zipped_params=np.array([Evil(str(made))], dtype=object))
    arrays = NpzFile(path)
    assert arrays.shapes == {"W": (2, 3)}
    assert arrays.read("W").dtype == np.float32
    with pytest.raises(UserError, match="expected an array zipped_params"):
        arrays.read("zipped_params")
    assert not made.exists()


def test_sizes_are_checked_before_memory_is_taken(tmp_path):
    path = tmp_path / "model.npz"
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        written, dict(descr="<f4", fortran_order=False, shape=(1 << 20, 1 << 20))
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Wemb.npy", written.getvalue())
    files = [str(path), *files_of("nematus-wmt17")[1:]]
    with pytest.raises(UserError, match=r"expected an array|Wemb: expected \(\d+, 8\)"):
        describe("nematus", files)


def test_arrays_without_numbers(tmp_path):
    """They could have any number of rows in a file of a few bytes."""
    path = tmp_path / "model.npz"
    np.savez(path, Wemb=np.zeros((9_999_999, 0), np.float32))
    files = options_changed(tmp_path, n_words_src=9_999_999, dim_word=0)
    with pytest.raises(UserError, match=r"Wemb: expected numbers, got none in \(9999999, 0\)"):
        describe("nematus", [str(path), *files[1:]])


def test_a_checkpoint_that_was_not_copied_whole(tmp_path):
    files = options_changed(tmp_path, "nematus-tf-smoothed")
    files[0] = shutil.copy(files[0], tmp_path)
    with pytest.raises(UserError, match="expected an array, got damaged bytes"):
        built(describe("nematus", files))
    data = next(FIXTURES.glob("nematus-tf-smoothed/*.data-*"))
    (tmp_path / data.name).write_bytes(data.read_bytes()[:5000])
    with pytest.raises(UserError, match="expected an array, got damaged bytes"):
        built(describe("nematus", files))


def test_words_in_yaml(tmp_path):
    """Every word is text, also what YAML reads as a Boolean, a number or a merged section."""
    path = tmp_path / "vocab.yml"
    lines = [
        "</s>: 0",
        "<unk>: 1",
        "on: 2",
        "1.5: 3",
        '"\\"": 4',
        "<<: 5",
        '"no": 6',
        "~: 7",
        "été: 8",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    words = ["</s>", "<unk>", "on", "1.5", '"', "<<", "no", "~", "été"]
    assert read_words(path) == {word: number for number, word in enumerate(words)}
    path.write_text('{"a": 0, "\\ud83d\\ude00": 1}', encoding="utf-8")
    assert read_words(path) == {"a": 0, "😀": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a: b",
        "a: 1\nb",
        "- a\n- b",
        "a: {b: 1}",
        "a: &x 1\nb: *x",
        "a: 1.5",
        "? [a]\n: 1",
        "[" * 100_000,
        "a: 1\n---\nb: 2",
        "a: " + "9" * 5000,
    ],
)
def test_damaged_words_in_yaml(tmp_path, text):
    path = tmp_path / "vocab.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"^[^\n]*vocab\.yml: expected (a vocabulary|words)[^\n]*$"):
        describe("marian", [files_of("marian-s2s")[0], str(path)])


def test_special_symbols_beyond_the_model(tmp_path):
    path = tmp_path / "vocab.yml"
    path.write_text("</s>: 400\na: 2\n", encoding="utf-8")
    with pytest.raises(UserError, match="the end symbol .400. and the unknown word .1. among them"):
        describe("marian", [files_of("marian-s2s")[0], str(path)])


def test_files_of_another_model_or_number(tmp_path):
    nematus, joey = files_of("nematus-wmt17"), files_of("joeynmt-lstm-last")
    with pytest.raises(UsageError, match="got 1 of weights, 0 of options, 2 vocabularies"):
        describe("nematus", [nematus[0], *nematus[2:]])
    with pytest.raises(UsageError, match="expected weights, options and the vocabularies"):
        describe("joeynmt", joey[:3])
    with pytest.raises(UsageError, match="expected weights and the vocabularies .* or one voc"):
        describe("marian", files_of("marian-s2s") + joey[2:])
    with pytest.raises(UserError, match="expected a file, found none"):
        describe("nematus", [*nematus[:3], "nowhere.json"])
    with pytest.raises(UserError, match=r"expected \(.*\) by the options, got"):
        describe("joeynmt", [joey[0], FIXTURES / "joeynmt-gru-bridge" / "config.yaml", *joey[2:]])


def test_nothing_is_written_if_it_cannot_be_imported(tmp_path):
    with pytest.raises(UserError):
        import_model("nematus", options_changed(tmp_path, enc_depth=2), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_words_that_are_no_tokens_keep_their_rows(tmp_path):
    files = files_of("nematus-wmt17")
    with open(files[3], encoding="utf-8") as file:
        words = json.load(file)
    by_id = {number: word for word, number in words.items()}
    changed = dict(words)
    for number, word in ((4, "two words"), (5, "<pad>"), (6, ""), (7, "\ud83d")):
        del changed[by_id[number]]
        changed[word] = number
    path = tmp_path / "vocab.fr.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    foreign = describe("nematus", [*files[:3], str(path)])
    before = describe("nematus", files)
    assert foreign.target.renamed == 4
    assert foreign.target.tokens[4:9] == [
        before.target.tokens[4],
        *[f"<entry-{k}>" for k in (4, 5, 6, 7)],
    ]
    np.testing.assert_array_equal(foreign.target.theirs, before.target.theirs)


def test_the_command_offers_every_format():
    module = importlib.import_module("rnnsearch_tf.cli.import")
    assert set(module.PROGRAMS) == set(READERS)


@pytest.mark.parametrize(
    "name, number, line",
    [
        ("joeynmt-lstm-last", 3, "<s>"),
        ("opennmt-tf-luong", 3, "<s>"),
        ("tensorflow-nmt-scaled-luong", 2, "</s>"),
        ("tensorflow-nmt-scaled-luong", 3, "<s>"),
    ],
)
def test_a_vocabulary_without_a_special_symbol(tmp_path, name, number, line):
    files = files_of(name)
    words = pathlib.Path(files[number]).read_text(encoding="utf-8").splitlines()
    path = tmp_path / pathlib.Path(files[number]).name
    path.write_text(
        "".join(f"{'x' if word == line else word}\n" for word in words), encoding="utf-8"
    )
    files[number] = str(path)
    with pytest.raises(UserError, match=f"expected the special symbol {line}, found none"):
        describe(MODELS[name], files)


@pytest.mark.parametrize("begin", ["\n", "\ufeff", " \t\r\n"])
def test_json_after_white_space_or_a_mark(tmp_path, begin):
    path = tmp_path / "vocab.json"
    path.write_text(f'{begin}{{"a": 0, "état": 1}}', encoding="utf-8")
    assert read_dictionary(path) == read_words(path) == {"a": 0, "état": 1}


def test_vocabularies_from_ids_to_words(tmp_path):
    """GroundHog keeps both directions; either will do. Two words, <s> and </s>, have the id 0."""
    files = files_of("groundhog-search")
    inverted = [
        str(pathlib.Path(path).parent / f"i{pathlib.Path(path).name}") for path in files[2:]
    ]
    found, expected = (describe("groundhog", files[:2] + rest) for rest in (inverted, files[2:]))
    for ours, theirs in ((found.source, expected.source), (found.target, expected.target)):
        np.testing.assert_array_equal(ours.theirs, theirs.theirs)
        assert theirs.tokens[3] == "<s>" and ours.tokens[4:] == theirs.tokens[4:]


def test_a_folder_with_files_is_refused_before_any_is_read(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="expected a new or empty folder"):
        import_model("nematus", ["nowhere"], tmp_path)
