"""DATA with small copies of WMT'14's corpora, and a server of them."""

import dataclasses
import pathlib
import sys
import types

import pytest
from wmt14_copies import NAMES, known, pack, pairs_of

from papers import wmt14


@pytest.fixture
def data(tmp_path, monkeypatch):
    """DATA with small files named as WMT'14's, which the program takes for the right ones."""
    folder = tmp_path / "data" / "wmt14"
    folder.mkdir(parents=True)
    archives = []
    for name, archive in zip(NAMES, wmt14.ARCHIVES):
        assert name in archive.name
        pack(folder / archive.name, archive.members, pairs_of(name))
        archives.append(known(archive, folder / archive.name))
    monkeypatch.setattr(wmt14, "ARCHIVES", archives)
    test_sets = [
        dataclasses.replace(each, pairs=20 + number)
        for number, each in enumerate((*wmt14.DEVELOPMENT, wmt14.TEST))
    ]
    for number, each in enumerate(test_sets):
        for path, lines in zip(each.paths(folder), pairs_of("nc", 20 + number)):
            path.write_bytes(b"".join(line + b"\n" for line in lines))
    sizes = {"SELECTED_PAIRS": 100, "TARGET_WORDS": 400}
    for name, value in {"DEVELOPMENT": test_sets[:2], "TEST": test_sets[2], **sizes}.items():
        monkeypatch.setattr(wmt14, name, value)
    return tmp_path / "data"


@pytest.fixture
def server(data, tmp_path, monkeypatch):
    """The archives are not in DATA but where mtdata, a stand-in of it, finds them: {url: list of
    what it gives, one after the other}.
    """
    found = {}
    for archive in wmt14.ARCHIVES:
        path = data / "wmt14" / archive.name
        found[archive.url] = [path.read_bytes()]
        path.unlink()

    class Cache:
        def __init__(self, root):
            assert pathlib.Path(root).is_dir()

        def download(self, url, save_at):
            answers = found[url]
            content = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(content, Exception):
                raise content
            save_at.write_bytes(content)

    monkeypatch.setitem(sys.modules, "mtdata", types.ModuleType("mtdata"))
    monkeypatch.setitem(sys.modules, "mtdata.cache", types.SimpleNamespace(Cache=Cache))
    return found
