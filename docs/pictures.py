"""The pictures of the attention page in the documents: docs/page-light.png, page-dark.png and
page-narrow.png.

    python docs/pictures.py [--chromium PATH] [--output docs]

Exports the trained model that comes along, serves it, and takes them with playwright in a Chromium
of the system, with the fonts of the machine.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import tempfile
import urllib.parse

import PIL.Image

MODEL = "tatoeba-en-fr"
LIGHT = "The red car I bought last year is already broken."
DARK = "She has never been to Paris."
NARROW = "I don't know what you mean."
LARGEST = 150_000  # bytes of a picture; beyond, it gets a palette
WAIT = 120_000  # milliseconds, for a busy machine


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--chromium",
        default=shutil.which("chromium"),
        help="the browser (default: chromium of the path)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path(__file__).parent,
        metavar="DIR",
        help="where the pictures go",
    )
    parser.add_argument(
        "--served", type=pathlib.Path, metavar="DIR", help="an export of the model, made before"
    )
    arguments = parser.parse_args()
    with served(arguments.served) as address, browser(arguments.chromium) as chromium:
        take(
            chromium,
            address,
            arguments.output / "page-light.png",
            LIGHT,
            "light",
            (1080, 600),
            follow=None,
        )
        take(
            chromium,
            address,
            arguments.output / "page-dark.png",
            DARK,
            "dark",
            (1080, 600),
            follow=2,
        )
        take(
            chromium,
            address,
            arguments.output / "page-narrow.png",
            NARROW,
            "light",
            (390, 600),
            follow=1,
        )


@contextlib.contextmanager
def served(folder):
    """The address of the page."""
    from rnnsearch_tf.export.writer import export_model
    from rnnsearch_tf.extras.server.server import Server

    with tempfile.TemporaryDirectory() as temporary:
        if folder is None:
            folder = pathlib.Path(temporary) / MODEL
            export_model(MODEL, folder)
        with Server(MODEL, folder, port=0, rest_api_port=0) as server:
            yield f"http://127.0.0.1:{server.rest_api_port}/"


@contextlib.contextmanager
def browser(path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        yield driver.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )


def take(chromium, address, path, text, scheme, size, follow):
    """The page with a translated sentence; `follow` is the number of the word that is pointed at,
    or None.
    """
    viewport = dict(zip(("width", "height"), size))
    context = chromium.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(f"{address}?text={urllib.parse.quote(text)}")
    page.locator("#translation .word").first.wait_for()
    page.locator("h1").click()  # the field without its focus
    if follow is not None:
        page.locator("#translation .word").nth(follow).hover()
    page.screenshot(path=path, full_page=True)
    picture = PIL.Image.open(path).convert("RGB")
    picture.save(path, optimize=True)
    if path.stat().st_size >= LARGEST:
        picture.quantize(256, kmeans=3).save(path, optimize=True)
    print(f"{path}: {page.locator('#translation').inner_text()} ({path.stat().st_size:,} bytes)")
    context.close()


if __name__ == "__main__":
    main()
