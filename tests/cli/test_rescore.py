"""rescore and oracle on the command line: against score, evaluate and the training logits."""

import gzip
import io

import pytest
import sacrebleu
from rnnsearch_tf.extras.moses.nbest import LINES_AT_ONCE
from test_pairs import log_probability
from tiny_run import write_run

SOURCE = ["The door is white.", "Where is the white cat?", "She goes to the hotel."]
LIST = [
    "0 ||| La porte est blanche. ||| lm= -3 ||| -1.5 ||| 0-0\n",
    "0 ||| La porte est verte. ||| lm= -2 ||| -1.4\n",
    "0 ||| La porte est blanche. ||| lm= -9 ||| -1.7\n",
    "2 ||| Elle va. ||| lm= -1 ||| -2\n",
]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "source").write_text("".join(line + "\n" for line in SOURCE))
    (tmp_path / "list").write_text("".join(LIST))
    return tmp_path / "source", tmp_path / "list"


def test_each_line_gets_the_log_probability(rnnsearch, run_folder, files, translator):
    out, err = rnnsearch("rescore", "--model", run_folder, "--source", files[0], files[1])
    assert err == ""
    for before, after in zip(LIST, out, strict=True):
        fields = before.rstrip("\n").split(" ||| ")
        new = after.split(" ||| ")
        features, name, value = new[2].rsplit(" ", 2)
        assert [*new[:2], features, *new[3:]] == fields and name == "RNN="
        assert float(value) == pytest.approx(
            log_probability(translator, SOURCE[int(fields[0])], fields[1]), abs=1e-4
        )


def test_an_even_average_sorts_each_sentence(rnnsearch, run_folder, files, tmp_path):
    words = [
        "rescore",
        "--model",
        run_folder,
        "--source",
        files[0],
        "--weight",
        0.5,
        "--feature",
        "NN",
    ]
    out, _ = rnnsearch(*words, files[1])
    rows = [line.split(" ||| ") for line in out]
    assert [row[0] for row in rows] == ["0", "0", "0", "2"]
    before = {line.split(" ||| ")[2]: float(line.split(" ||| ")[3]) for line in LIST}
    for row in rows:
        features, value = row[2].split(" NN= ")
        assert float(row[3]) == pytest.approx((before[features] + float(value)) / 2, abs=1e-5)
    assert sorted((float(row[3]) for row in rows[:3]), reverse=True) == [
        float(row[3]) for row in rows[:3]
    ]
    rnnsearch(*words, "--output", tmp_path / "out.gz", files[1])
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines() == out


def test_standard_input_and_each_text_once(rnnsearch, run_folder, files, monkeypatch, translator):
    asked = []
    score = translator.score
    monkeypatch.setattr(translator, "score", lambda *pairs: asked.extend(pairs[1]) or score(*pairs))
    expected, _ = rnnsearch("rescore", "--model", run_folder, "--source", files[0], files[1])
    assert sorted(asked) == ["Elle va.", "La porte est blanche.", "La porte est verte."]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("".join(LIST).encode())))
    assert rnnsearch("rescore", "--model", run_folder, "--source", files[0], "-")[0] == expected


def test_tokens_stay_tokens(rnnsearch, run_folder, files, tmp_path):
    (tmp_path / "tokens").write_text(
        "0 ||| La porte est blanche . ||| lm= -3 ||| -1.5\n0 ||| La porte est (blanche) ||| lm= 1"
        " ||| 2\n"
    )
    words = ["rescore", "--model", run_folder, "--source", files[0]]

    def value(line):
        return line.split(" ||| ")[2].split()[-1]

    plain, _ = rnnsearch(*words, files[1])
    (tmp_path / "source").write_text("The door is white .\n")
    tokens, _ = rnnsearch(*words, "--tokenized", tmp_path / "tokens")
    assert value(tokens[0]) == value(plain[0])
    assert value(tokens[1]) != value(rnnsearch(*words, tmp_path / "tokens")[0][1])


def test_a_bad_line_leaves_nothing_behind(rnnsearch, run_folder, files, tmp_path):
    """Also where much of the list has been scored before the line would be reached."""
    files[1].write_text(LIST[0] + LIST[-1] * LINES_AT_ONCE + "3 ||| x ||| lm= 1 ||| 2\n")
    words = ["rescore", "--model", run_folder, "--source", files[0], files[1]]
    out, err = rnnsearch(*words, code=1)
    assert (
        out == [] and f"{files[1]}:{LINES_AT_ONCE + 2}: expected a sentence number below 3" in err
    )
    rnnsearch(*words, "--output", tmp_path / "out", code=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["list", "source"]


@pytest.mark.parametrize(
    "options, part",
    [
        (["--weight", "2"], "--weight: expected a number from 0 to 1, got '2'"),
        (["--feature", "a="], "--feature: expected a name"),
    ],
)
def test_wrong_options(rnnsearch, run_folder, files, options, part):
    out, err = rnnsearch(
        "rescore", "--model", run_folder, "--source", files[0], *options, files[1], code=2
    )
    assert out == [] and part in err


def test_standard_input_is_one_of_both(rnnsearch, run_folder):
    words = ["rescore", "--model", run_folder, "--source", "-", "-"]
    for words in (words, ["oracle", "--reference", "-", "-"]):
        out, err = rnnsearch(*words, code=2)
        assert (
            out == [] and "-: expected standard input for one text at most, got it for both" in err
        )


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_read_is_not_written(rnnsearch, run_folder, files, place):
    before = [path.read_text() for path in files]
    _, err = rnnsearch(
        "rescore",
        "--model",
        run_folder,
        "--source",
        files[0],
        "--output",
        files[place],
        files[1],
        code=2,
    )
    assert f"{files[place]}: expected another file than the input" in err
    assert [path.read_text() for path in files] == before


def test_a_feature_that_a_late_line_has_is_refused_before_anything_is_written(
    rnnsearch, run_folder, files
):
    out, err = rnnsearch(
        "rescore", "--model", run_folder, "--source", files[0], "--feature", "late", files[1]
    )
    files[1].write_text("".join(LIST[:-1]) + LIST[-1].replace("lm=", "late="))
    out, err = rnnsearch(
        "rescore",
        "--model",
        run_folder,
        "--source",
        files[0],
        "--feature",
        "late",
        files[1],
        code=2,
    )
    assert out == [] and "--feature: expected a name that is not in the list yet, got late" in err


def test_oracle(rnnsearch, files, tmp_path):
    references = ["La porte est verte.", "Où est-il ?", "Elle va à l'hôtel."]
    (tmp_path / "reference").write_text("".join(line + "\n" for line in references))
    out, err = rnnsearch(
        "oracle", "--reference", tmp_path / "reference", "--chosen", tmp_path / "chosen", files[1]
    )
    chosen = (tmp_path / "chosen").read_text().splitlines()
    assert "no hypotheses for 1 of 3 sentences" in err and chosen == [
        "La porte est verte.",
        "",
        "Elle va.",
    ]
    for line, texts in zip(out, (["La porte est blanche.", "", "Elle va."], chosen), strict=True):
        assert float(line.split()[1]) == pytest.approx(
            sacrebleu.corpus_bleu(texts, [references]).score, abs=0.01
        )
    assert (
        "tok:none"
        in rnnsearch("oracle", "--tokenized", "--reference", tmp_path / "reference", files[1])[0][0]
    )
    assert (
        "tok:char"
        in rnnsearch(
            "oracle", "--target-language", "ja", "--reference", tmp_path / "reference", files[1]
        )[0][0]
    )
    out, err = rnnsearch(
        "oracle", "--chosen", files[1], "--reference", tmp_path / "reference", files[1], code=2
    )
    assert (
        out == []
        and "expected another file than the input" in err
        and "|||" in files[1].read_text()
    )
    (tmp_path / "reference").write_text("one\n")
    out, err = rnnsearch("oracle", "--reference", tmp_path / "reference", files[1], code=1)
    assert out == [] and f"{files[1]}:4: expected a sentence number below 1" in err
    (tmp_path / "reference").write_text("one\n" * 4)
    out, err = rnnsearch("oracle", "--reference", tmp_path / "reference", files[1], code=1)
    assert out == [] and "as the n-best list has sentences, 3, got 4" in err
    (tmp_path / "reference").write_text("")
    out, err = rnnsearch("oracle", "--reference", tmp_path / "reference", files[1], code=1)
    assert (
        out == []
        and f"{tmp_path}/reference: expected reference translations, got an empty file;"
        " check the path"
        in err
    )


def test_a_language_model_rescores_whatever_the_source(rnnsearch, files, tmp_path):
    system = [
        "model.system=cslm",
        "model.alignment_size=1000",
        "model.maxout_size=500",
        "model.output_rank=620",
        "training.seed=3",
    ]
    run = write_run(tmp_path / "cslm", system, unknown_words=None)
    words = ["rescore", "--model", run, "--feature", "CSLM", "--source", files[0], files[1]]
    out, _ = rnnsearch(*words)
    values = [line.split("CSLM= ")[1].split(" ")[0] for line in out]
    assert values[0] == values[2] != values[1]
    files[0].write_text("one\n\nthree\n")
    assert rnnsearch(*words)[0] == out
