"""Every command, flag and option that the documents name is one of the program's."""

import contextlib
import functools
import io
import re
import shlex

import pytest
from documents import DOCUMENTS, INLINE, code_blocks, prose

from rnnsearch_tf.cli.main import COMMANDS, run
from rnnsearch_tf.config import Config, load_config, option_fields

OPTIONS = dict(option_fields())
SECTIONS = {name.split(".")[0] for name in OPTIONS if "." in name}
NO_OPTIONS = {"model.fit", "training.py"}
"""What looks like an option of a section and is none."""


@functools.cache
def flags(name):
    """The flags that ``rnnsearch help COMMAND`` lists."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert run(["help", name]) == 0
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", printed.getvalue()))


def words_of(command):
    """The words of a shell command, as far as they can be told apart."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def commands(document):
    """[COMMAND, words …] of every call of the program, in code and prose."""
    lines = [
        line
        for language, code in code_blocks(document)
        if language in ("", "bash", "sh")
        for line in code.replace("\\\n", " ").split("\n")
    ]
    lines += [" ".join(code.split()) for code in INLINE.findall(prose(document))]
    for line in lines:
        for call in re.findall(r"(?:^|[\s|/(])rnnsearch +([a-z].*?)(?=\||&&|$)", line):
            yield words_of(call)


def mistakes(document):
    for name, *words in commands(document):
        if name == "help" or not re.fullmatch(r"[a-z-]+", name):
            continue
        if name not in COMMANDS:
            yield name
            continue
        # what stands behind it is another program's
        words = words[: words.index("--")] if "--" in words else words
        named = (word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word))
        yield from (f"{name} {flag}" for flag in named if flag.replace("_", "-") not in flags(name))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_and_their_flags_exist(document):
    assert not list(mistakes(document))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_options_that_are_named_exist(document):
    named = set(
        re.findall(
            rf"(?<![\w./-])((?:{'|'.join(SECTIONS)})\.[a-z_]+)(?=[\s=:`)]|$)",
            "\n".join(INLINE.findall(prose(document))),
        )
    )
    named |= {
        word.partition("=")[0]
        for _, *words in commands(document)
        for flag, word in zip(words, words[1:])
        if flag == "--set" and "." in word
    }
    assert not named - set(OPTIONS) - NO_OPTIONS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_configurations_in_the_text_load(document, tmp_path):
    for language, code in code_blocks(document):
        if language == "yaml" or re.match(rf"(?:base|{'|'.join(SECTIONS)}):", code):
            path = tmp_path / "config.yaml"
            path.write_text(code, encoding="utf-8")
            assert isinstance(load_config(path), Config)


def test_there_is_something_to_look_at():
    found = [command for document in DOCUMENTS for command in commands(document)]
    assert len(found) > 60 and {"init", "train", "serve"} < {command[0] for command in found}
