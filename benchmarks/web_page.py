"""Speed of an exported web page in Chromium: seconds to load it, milliseconds a sentence.

    python benchmarks/web_page.py FOLDER TEXT [--words 10] [--sentences 40]

FOLDER: DIR/N of `rnnsearch export --format web`. TEXT: a file of sentences, of which those of
--words words are translated one after the other. The search has one thread. Needs Chromium and the
extra `browser`.
"""

import functools
import http.server
import os
import pathlib
import shutil
import threading
import time

import measuring

TRANSLATE = """async (sentences) => {
  const { Server } = await import("./server.js");
  const server = new Server();
  const { signal } = new AbortController();
  const times = [];
  for (const sentence of [...sentences.slice(0, 5), ...sentences]) {
    const start = performance.now();
    await server.translate("", sentence, signal);
    times.push(performance.now() - start);
  }
  return times.slice(5);
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def measure(folder, sentences, repeats):
    """(seconds from opening the page to a loaded model, one per start; milliseconds a sentence)."""
    from playwright.sync_api import sync_playwright

    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    loading = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        for _ in range(repeats):
            page = browser.new_context().new_page()
            start = time.perf_counter()
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.wait_for_selector("html[data-ready]")
            page.wait_for_selector("#progress", state="hidden")
            loading.append(time.perf_counter() - start)
        times = page.evaluate(TRANSLATE, sentences)
        browser.close()
    server.shutdown()
    return loading, times


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("folder")
    parser.add_argument("text")
    parser.add_argument("--words", type=int, default=10)
    parser.add_argument("--sentences", type=int, default=40)
    arguments = measuring.parse(parser)
    lines = pathlib.Path(arguments.text).read_text(encoding="utf-8").splitlines()
    chosen = [line for line in lines if len(line.split()) == arguments.words]
    chosen = chosen[: arguments.sentences]
    loading, times = measure(arguments.folder, chosen, arguments.repeats)
    rows = [
        ["opening the page, until the model is loaded", 1000 * measuring.median(loading)],
        [f"a sentence of {arguments.words} words, median of {len(times)}", measuring.median(times)],
        ["a sentence, the slowest", max(times)],
    ]
    print(measuring.table(["", "ms"], rows))


if __name__ == "__main__":
    main()
