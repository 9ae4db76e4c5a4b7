"""The export as a web page: what its folder holds, and what is refused."""

import base64
import io
import json
import tarfile

import pytest
import sentencepiece
from tiny_run import write_run

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.web.library import read_library
from rnnsearch_tf.extras.web.writer import export_web, page_settings
from rnnsearch_tf.text.subwords import Subwords

SPACE = ["source.tokenization=space", "target.tokenization=space"]
PACKAGE = {
    "package/package.json": b'{"name": "onnxruntime-web", "version": "1.30.0"}',
    "package/dist/ort.wasm.min.mjs": b"one",
    "package/dist/ort-wasm-simd-threaded.mjs": b"two",
    "package/dist/ort-wasm-simd-threaded.wasm": b"three",
    "package/dist/ort.webgpu.mjs": b"not needed",
}
FILES = {
    "icon.svg": None,
    "index.html": None,
    "model.json": None,
    "model.onnx": None,
    "model_card.md": None,
    "onnxruntime/ort-wasm-simd-threaded.js": b"two",
    "onnxruntime/ort-wasm-simd-threaded.wasm": b"three",
    "onnxruntime/ort.wasm.min.js": b"one",
    "onnxruntime/package.json": PACKAGE["package/package.json"],
    "page.css": None,
    "page.js": None,
    "panel.js": None,
    "profile.yaml": None,
    "server.js": None,
    "text.js": None,
    "words.js": None,
    "worker.js": None,
}


def pack(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return pack(tmp_path_factory.mktemp("library") / "onnxruntime-web.tgz", PACKAGE)


@pytest.fixture(scope="module")
def exported(library, tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    return export_web(write_run(folder / "run", SPACE), folder / "pages", library=library).folder


def test_the_files_of_a_page(exported):
    found = {path.relative_to(exported).as_posix(): path for path in exported.rglob("*.*")}
    assert sorted(found) == sorted(FILES)
    for name, content in FILES.items():
        assert content is None or found[name].read_bytes() == content, name
    # in place of a server: the browser searches
    assert "worker.js" in found["server.js"].read_text(encoding="utf-8")
    size = found["model.onnx"].stat().st_size + sum(map(len, list(PACKAGE.values())[:4]))
    assert json.loads(found["model.json"].read_text(encoding="utf-8"))["bytes"] == size


def test_the_page_may_talk_to_its_own_folder_only(exported):
    page = (exported / "index.html").read_text(encoding="utf-8")
    policy = page.partition('<meta http-equiv="Content-Security-Policy" content="')[2]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.partition('"')[0].split(";"))
    assert rules.pop("script-src") == "'self' 'wasm-unsafe-eval'"
    assert rules["connect-src"] == rules["worker-src"] == "'self'"
    assert rules["default-src"] == "'none'"
    assert set(rules.values()) <= {"'self'", "'none'"}
    assert page.index("Content-Security-Policy") < page.index("<script")


def test_the_settings_of_a_page(exported):
    settings = json.loads((exported / "model.json").read_text(encoding="utf-8"))
    assert settings["name"] == "run"
    assert settings["about"] == {"source": "en", "target": "fr", "examples": []}
    assert settings["source"]["tokenization"] == "space"
    assert settings["source"]["tokens"][:3] == ["<pad>", "</s>", "<unk>"]
    assert settings["maximum_source_length"] == 200 and settings["search"]["beam_size"] == 3


@pytest.mark.slow
def test_pieces_have_their_scores(library, tmp_path):
    subwords = ["source.tokenization=sentencepiece", "source.vocabulary_size=150", SPACE[1]]
    run = write_run(tmp_path / "run", subwords)
    folder = export_web(run, tmp_path / "pages", library=library).folder
    side = json.loads((folder / "model.json").read_text(encoding="utf-8"))["source"]
    model = (run / "source.spm.model").read_bytes()
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert side["tokens"] == Subwords(model).pieces and "subword_model" not in side
    assert side["scores"] == [pieces.get_score(id) for id in range(len(pieces))]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (dict(), True),  # the default rules, nmt_nfkc
        (dict(normalization_rule_name="identity"), True),  # U+2581 stays
        (dict(add_dummy_prefix=False), True),
        (dict(treat_whitespace_as_suffix=True), True),
        (dict(remove_extra_whitespaces=False), False),  # the page removes them before
    ],
)
def test_a_model_that_tokenizes_unlike_the_page_is_refused(tmp_path, options, refused):
    rules = tmp_path / "rules.tsv"
    rules.write_text("2581\t5F\n")
    if options and "normalization_rule_name" not in options:
        options |= dict(normalization_rule_tsv=str(rules))
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the house is small", "the book is here"] * 20),
        model_writer=written,
        vocab_size=30,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
        **options,
    )
    model = base64.b64encode(written.getvalue()).decode()
    side = {"tokenization": "sentencepiece", "subword_model": model}
    if not refused:
        assert len(page_settings(side, "source")["tokens"]) > 10
        return
    with pytest.raises(UserError, match="expected the normalization rules of .*source"):
        page_settings(side, "source")


def test_moses_text_is_refused_before_the_conversion(library, tmp_path):
    run = write_run(tmp_path / "run")
    with pytest.raises(UserError, match=r"expected tokenization sentencepiece or space, got moses"):
        export_web(run, tmp_path / "pages", library=library)
    assert not (tmp_path / "pages").exists()


def test_a_library_may_be_a_folder(tmp_path):
    for name, content in PACKAGE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    found = read_library(tmp_path / "package")
    assert found == {
        name.partition("/")[2]: content for name, content in FILES.items() if content is not None
    }


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("package/package.json", b'{"name": "left-pad", "version": "1.30.0"}', "got left-pad"),
        ("package/package.json", b'{"name": "onnxruntime-web", "version": "2.0.0"}', "got .* 2.0"),
        ("package/package.json", b'{"name": "onnxruntime-web", "version": "1.19.2"}', "got .* 1.1"),
        ("package/package.json", b'{"name": "onnxruntime-web"}', "KeyError: 'version'"),
        ("package/package.json", b"[", "JSONDecodeError"),
        ("package/package.json", b"[]", "TypeError: list indices must be"),
        ("package/package.json", b"[" * 100_000, "RecursionError"),
        ("package/dist/ort.wasm.min.mjs", None, "no file dist/ort.wasm.min.mjs"),
    ],
)
def test_other_libraries_are_refused(tmp_path, name, content, says):
    files = {**PACKAGE, name: content}
    path = pack(tmp_path / "package.tgz", {k: v for k, v in files.items() if v is not None})
    with pytest.raises(UserError, match=f"expected .*onnxruntime-web.*{says}.*npm pack"):
        read_library(path)


def test_damaged_and_missing_libraries_are_refused(library, tmp_path):
    content = library.read_bytes()
    damaged = tmp_path / "damaged.tgz"
    for cut in (0, 9, len(content) // 2, len(content) - 3):
        damaged.write_bytes(content[:cut])
        with pytest.raises(UserError, match="expected the package onnxruntime-web, got"):
            read_library(damaged)
    with pytest.raises(UserError, match="No such file"):
        read_library("missing.tgz")
    with pytest.raises(UserError, match="expected the package onnxruntime-web; get it with"):
        read_library(None)
