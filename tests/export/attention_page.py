"""The attention page in a browser: pages to open, and what is read from them."""

import re
import urllib.parse

from scripted_core import translation


SENTENCE = "she was never doubtful here"


WAIT = 30_000  # milliseconds, for a busy machine


class Pages:
    """Pages of a browser, one for all tests that ask for nothing special; `errors` and `hosts` are
    what they logged and asked.
    """

    def __init__(self, browser):
        self.browser = browser
        self.shared = None
        self.errors, self.hosts = [], set()

    def open(self, context):
        """A page of a new context with these options."""
        page = self.browser.new_context(
            **{"viewport": {"width": 1200, "height": 900}} | context
        ).new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "request", lambda request: self.hosts.add(urllib.parse.urlsplit(request.url).hostname)
        )
        return page


def translated(page, text=SENTENCE, panel=0):
    """The panel, once it shows the translation of the text."""
    panel = page.locator(".panel").nth(panel)
    panel.locator(
        ".translation", has_text=re.compile(f"^{re.escape(translation(text))}$")
    ).wait_for()
    panel.locator("xpath=self::*[not(@aria-busy)]").wait_for()
    return panel


def texts(locator):
    return [text.strip() for text in locator.all_text_contents()]


def said(locator):
    """The text without the marks that keep words apart from the direction of what stands around
    them.
    """
    return re.sub("[\u2068\u2069]", "", locator.inner_text())


def weight_of(cell):
    return float(cell.evaluate("each => each.style.getPropertyValue('--weight')"))
