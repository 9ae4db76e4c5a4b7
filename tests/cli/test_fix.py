"""`rnnsearch doctor` and `doctor --fix`, as a user calls them: one process for all of it."""

import json
import subprocess
import sys

from rnnsearch_tf.data.phrasebook import phrasebook

COMMANDS = """
import contextlib, io, json, sys
from rnnsearch_tf.cli.main import run
done = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        done.append((run(words), out.getvalue()))
print(json.dumps(done))
"""


def run_all(folder, *commands):
    words = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_text_is_checked_cleaned_and_checked_again(tmp_path):
    source, target = (list(side) for side in phrasebook(400, 1, "train"))
    for place in range(100, 130):
        target[place] = "<i>" + target[place].replace("'", "&#39;") + "</i>"
    source[7] = ""
    target[8] = source[8]
    for name, lines in (("my text.en", source), ("my text.fr", target)):
        (tmp_path / name).write_text("\r\n".join(lines), encoding="utf-8-sig")
    init = ["init", "mine", "--source", "my text.en", "--target", "my text.fr"]
    doctor = ["doctor", "--config", "mine/config.yaml", "--quick"]
    fix = ["doctor", "--config", "mine/config.yaml", "--fix", "clean text"]
    fix += ["--set", "data.on_bad_line=error"]
    use = [f"data.train_source={tmp_path}/clean text/my text.en"]
    use += [f"data.train_target={tmp_path}/clean text/my text.fr"]
    sets = [word for value in use for word in ("--set", value)]
    done = run_all(tmp_path, init, doctor, fix, fix, [*fix, "--quick"], [*doctor, *sets])
    assert [code for code, _ in done] == [0, 0, 0, 1, 2, 0], done
    checked, cleaned, again, quick, clean = (said for _, said in done[1:])
    [markup] = [line for line in checked.splitlines() if "train: " in line and "markup" in line]
    assert markup.startswith("warning: train: ") and markup.endswith("; --fix DIR lists all")
    lines = cleaned.splitlines()
    assert "of 400 pairs written: clean text/my text.en, clean text/my text.fr" in lines[0]
    assert "        1  pairs are empty on one side or both: left out" in lines
    assert any(
        line.endswith("  target lines have markup: removed it, kept its text") for line in lines
    )
    assert "each with its file, line and reason: clean text/changes.tsv" in lines
    assert f"  train_source: {tmp_path}/clean text/my text.en" in lines
    assert all(f"--set '{value}'" in lines[-1] for value in use)
    assert "--set data.on_bad_line=error" in lines[-1]
    assert "clean text/my text.en: expected a new file, as --fix overwrites none" in again
    assert "--quick: expected no --fix with it" in quick
    assert "have markup" not in clean and "have HTML entities" not in clean
    assert (tmp_path / "my text.en").read_bytes().startswith(b"\xef\xbb\xbf")
