"""A tiny RUN and its export, made once for all processes of the suite; the attention page of a
server with scripted answers.
"""

import fcntl
import os
import shutil

import pytest
from tiny_run import write_run

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NBEST = 3
TARGET_LIMIT = 150  # not the source's, which is 200
TEMPERATURE = 0.5


def once(tmp_path_factory, name, make):
    """The folder of this name, made by the first process that asks."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / name
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            make(folder)
    return folder


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """Path of a RUN with random weights. About half of the words it writes are unknown ones."""
    return once(
        tmp_path_factory, "exported_run", lambda folder: write_run(folder, unknown_words=6.0)
    )


@pytest.fixture(scope="session")
def exported(run_folder, tmp_path_factory):
    """Path of version 1 of its export, every signature in it; the export has checked itself."""
    from rnnsearch_tf.export.writer import export_model

    def make(folder):
        export_model(
            run_folder,
            folder,
            overrides=[
                "search.replace_unknown=true",
                f"search.nbest={NBEST}",
                f"maximum_target_length={TARGET_LIMIT}",
                f"temperature={TEMPERATURE}",
            ],
        )

    return once(tmp_path_factory, "exported", make) / "1"


@pytest.fixture(scope="session")
def session(exported):
    """The export in a v1 session of this process."""
    from rnnsearch_tf.export.session import SessionModel

    return SessionModel(exported)


@pytest.fixture(scope="session")
def translator(run_folder):
    from rnnsearch_tf.translation import Translator

    return Translator.load(run_folder)


@pytest.fixture(scope="session")
def browser():
    """A Chromium of the system; the test is skipped without it, or without what drives it."""
    if CHROMIUM is None:
        pytest.skip("expected a Chromium, found none")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="expected the extra `browser`, which drives Chromium"
    )
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def core():
    from scripted_core import ScriptedCore

    return ScriptedCore()


@pytest.fixture(scope="module")
def server(core):
    server = core.serve()
    yield server
    server.stop(0)


@pytest.fixture(scope="module")
def pages(browser):
    from attention_page import Pages

    return Pages(browser)


@pytest.fixture
def open_page(pages, server):
    """open_page(query, port, **context) → a page that is ready; afterwards: no error was logged,
    and nothing left the host.

    A page with options of its own is closed after the test.
    """
    own = []

    def open_page(query="", port=None, **context):
        if context:
            own.append(page := pages.open(context))
        else:
            page = pages.shared = pages.shared or pages.open({})
            page.mouse.move(2, 2)
        page.goto(f"http://127.0.0.1:{port or server.rest_port}/{query}")
        page.wait_for_selector("html[data-ready]")
        return page

    pages.errors.clear(), pages.hosts.clear()
    yield open_page
    for page in own:
        page.context.close()
    assert not pages.errors and pages.hosts == {"127.0.0.1"}
