"""The attention page in a real Chromium: what it shows of a model's answers, by pointer and by
keyboard, and what it says when something is wrong.

Skipped where there is no Chromium, or no playwright to drive it.
"""

import urllib.parse
import urllib.request

import numpy as np
import pytest
from attention_page import SENTENCE, said, texts, translated, weight_of
from scripted_core import MODELS, confidence, translation, weights
from serving.scripted_server import VERSION

LONGEST = 2000  # characters, as the page says


def test_a_sentence_is_translated_while_it_is_typed(open_page):
    page = open_page()
    assert not page.locator(".panel").is_visible()
    page.locator("#sentence").press_sequentially(SENTENCE, delay=5)
    panel = translated(page)
    target = translation(SENTENCE).split()
    source = SENTENCE.split()
    alpha = np.array(weights(5))[:5, :5]
    assert texts(panel.locator(".translation .word")) == target
    sure = [
        float(word.evaluate("each => each.style.getPropertyValue('--confidence')"))
        for word in panel.locator(".translation .word").all()
    ]
    assert sure == [confidence(word) for word in target]
    assert texts(panel.locator(".translation .unsure")) == ["DOUBTFUL"]
    assert panel.locator(".sureness").inner_text().startswith("75\u202f% sure of the sentence")
    assert (
        texts(panel.locator(".heatmap thead th")) == source
        and texts(panel.locator(".heatmap tbody th")) == target
    )
    cells = panel.locator(".heatmap tbody td").all()
    np.testing.assert_allclose([weight_of(cell) for cell in cells], alpha.ravel(), atol=1e-3)
    assert texts(panel.locator(".heatmap tbody td"))[:5] == [
        f"{round(100 * weight)}\u202f%" for weight in alpha[0]
    ]
    threads = panel.locator("[data-thread]").all()
    drawn = {
        (int(t.get_attribute("data-target")), int(t.get_attribute("data-source"))): weight_of(t)
        for t in threads
    }
    assert drawn == pytest.approx(
        {(i, j): alpha[i, j] for i in range(5) for j in range(5) if alpha[i, j] >= 0.02}, abs=1e-3
    )
    ways = {
        tuple(
            map(int, (t.get_attribute("data-target"), t.get_attribute("data-source")))
        ): t.get_attribute("d")
        for t in threads
    }
    assert ways == {
        (i, j): f"M0 {j + 0.5}C45 {j + 0.5} 55 {i + 0.5} 100 {i + 0.5}" for i, j in drawn
    }
    rows = [texts(row.locator("td")) for row in panel.locator(".nbest tbody tr").all()]
    best = translation(SENTENCE)
    assert rows == [[best, "63\u202f%", "-0.25"], [f"{best} INDEED", "2.5\u202f%", "-0.50"]]
    assert texts(panel.locator(".nbest em")) == ["INDEED"]
    assert page.locator("#status").text_content() == f"plain: {best}"


def test_enter_translates_at_once_and_the_address_keeps_it(open_page):
    page = open_page(locale="en-GB")  # one of its own: the clock stays stopped
    page.clock.install()
    page.clock.pause_at("2100-01-01")  # the time that typing waits for never comes
    page.fill("#sentence", SENTENCE)
    page.locator("#sentence").press("Enter")
    translated(page)
    assert page.input_value("#sentence") == SENTENCE
    query = urllib.parse.urlsplit(page.url).query
    assert dict(urllib.parse.parse_qsl(query)) == {"text": SENTENCE, "model": "plain"}
    translated(open_page(f"?{query}"))


def test_an_answer_that_comes_too_late_is_dropped(open_page, core):
    page = open_page()
    core.gate.clear()
    page.fill("#sentence", "slow one")
    with page.expect_request("**/v1/models/plain:predict"):
        page.locator("#sentence").press("Enter")
    page.fill("#sentence", "two")
    page.locator("#sentence").press("Enter")
    translated(page, "two")
    page.evaluate("""() => {
      window.seen = [];
      const line = document.querySelector(".translation");
      new MutationObserver(() => seen.push(line.textContent)).observe(line, { childList: true });
    }""")
    core.gate.set()
    page.wait_for_timeout(500)
    assert page.evaluate("seen") == [] and texts(page.locator(".translation")) == ["TWO"]


def test_the_pointer_follows_a_word(open_page):
    panel = translated(page := open_page(f"?text={SENTENCE}"))
    panel.locator(".translation .word", has_text="NEVER").hover()
    assert (
        said(panel.locator(".readout"))
        == "“NEVER” looks at “never” 80\u202f%, “she” 9\u202f%, the end 8\u202f%. 90\u202f% sure."
    )
    followed = panel.locator("[data-thread].followed")
    assert {each.get_attribute("data-target") for each in followed.all()} == {"2"}
    assert (
        texts(panel.locator(".heatmap th.followed")) == ["NEVER"]
        and panel.locator(".heatmap td.followed").count() == 5
    )
    looks = [
        float(word.evaluate("each => each.style.getPropertyValue('--look')"))
        for word in panel.locator("ol.source .word").all()
    ]
    np.testing.assert_allclose(looks, weights(5)[2][:5], atol=1e-3)
    panel.locator("ol.source .word", has_text="was").hover()
    assert (
        said(panel.locator(".readout")) == "“was” is looked at by “WAS” 80\u202f%, “SHE” 9\u202f%."
    )
    panel.locator(".heatmap tbody td").nth(4).hover()
    assert said(panel.locator(".readout")) == "“HERE” looks at “here”: 80\u202f%."
    page.mouse.move(2, 2)
    assert (
        said(panel.locator(".readout")).startswith("Point at a word")
        and panel.locator(".following").count() == 0
    )


def test_tab_follows_the_words_one_by_one(open_page):
    panel = translated(page := open_page(f"?text={SENTENCE}"))
    page.focus("summary")
    heard = []
    for _ in range(10):
        page.keyboard.press("Tab")
        heard.append(said(panel.locator(".readout")).split(" ")[:3])
    words = translation(SENTENCE).split()
    assert heard == [[f"“{word}”", "looks", "at"] for word in words] + [
        [f"“{word}”", "is", "looked"] for word in SENTENCE.split()
    ]
    assert page.evaluate(
        "document.activeElement.getAttribute('aria-describedby')"
    ) == panel.locator(".readout").get_attribute("id")


def test_two_models_side_by_side(open_page):
    page = open_page(f"?text={SENTENCE}")
    assert texts(page.locator("#model option")) == list(MODELS)
    page.select_option("#beside", "pieces")
    left = translated(page)
    right = translated(page, panel=1)
    assert [texts(panel.locator("h2")) for panel in (left, right)] == [["plain"], ["pieces"]]
    boxes = [panel.bounding_box() for panel in (left, right)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    for panel in (left, right):  # the pieces have become words again
        assert texts(panel.locator(".heatmap tbody th")) == translation(SENTENCE).split()
        np.testing.assert_allclose(
            [weight_of(cell) for cell in panel.locator(".heatmap tbody td").all()],
            np.ravel(np.array(weights(5))[:5, :5]),
            atol=2e-3,
        )
    page.select_option("#beside", "")
    page.locator(".panel").nth(1).wait_for(state="detached")
    page = open_page(f"?text={SENTENCE}&model=plain/versions/{VERSION}")
    assert texts(translated(page).locator("h2")) == [f"plain, version {VERSION}"]


def test_what_a_model_lacks_is_said(open_page):
    page = open_page(f"?text={SENTENCE}&model=bare&beside=blind")
    for number in (0, 1):
        panel = translated(page, panel=number)
        assert said(panel.locator(".readout")).startswith("This model aligns nothing")
        assert "its export has no calibration" in panel.locator(".sureness").inner_text()
        assert (
            not panel.locator(".looking").is_visible() and not panel.locator(".others").is_visible()
        )
    word = panel.locator(".translation .word").first
    word.hover()
    assert said(panel.locator(".readout")) == f"“{word.inner_text()}”"


@pytest.mark.parametrize(
    "query, message",
    [
        ("model=nothing&text=a", "The server has no model “nothing” that answers. Check the name."),
        (
            "model=numbers&text=a",
            "“numbers” is no translation model of this project: it has no signature translate.",
        ),
    ],
    ids=["unknown", "numbers"],
)
def test_a_wrong_model_is_said(open_page, query, message):
    page = open_page(f"?{query}")
    page.locator(".panel .problem").wait_for()
    assert said(page.locator(".panel .problem span")) == message


@pytest.fixture
def about(server):
    """The export of the model `pieces` says this of it."""
    document = {"source": "de", "target": "fr", "examples": ["guten tag", "<b>alles gute</b>"]}
    server.about["pieces"] = document
    yield document
    server.about["pieces"] = {}


def test_the_languages_and_examples_of_a_model_are_shown(open_page, about):
    page = open_page()
    assert not page.locator("#examples").is_visible()  # of the first model nothing is known
    page.select_option("#model", "pieces")
    examples = page.locator("#examples")
    assert said(examples).startswith("From German to French. Try: ")
    assert texts(examples.locator("button")) == about["examples"]
    assert page.locator("#sentence").get_attribute("lang") == "de"
    examples.locator("button").first.click()
    translated(page, "guten tag")
    assert page.input_value("#sentence") == "guten tag"
    page.select_option("#model", "plain")
    translated(page, "guten tag")
    assert not examples.is_visible()


def test_a_sentence_unlike_those_that_the_model_knows_is_said(open_page):
    page = open_page("?text=quite+unlike")
    sureness = translated(page, "quite unlike").locator(".sureness")
    assert said(sureness).startswith("25\u202f% sure of the sentence")
    assert said(sureness).endswith(
        "The sentence seems unlike those that the model knows: try other or fewer words."
    )
    page.fill("#sentence", SENTENCE)
    assert "unlike" not in said(translated(page).locator(".sureness"))


def test_a_text_that_is_too_long_is_said(open_page):
    page = open_page("?text=a+long+story")
    cut = translated(page, "a long story").locator(".cut")
    assert cut.is_visible()
    assert (
        said(cut)
        == "The sentence is longer than the model reads: what stands behind “story” was left out."
    )
    page.fill("#sentence", "a" * (LONGEST + 1))
    page.locator("#sentence-problem").wait_for()
    assert (
        page.locator("#sentence-problem").inner_text()
        == f"The text is too long: it has {LONGEST + 1} characters, and the page takes {LONGEST}."
    )
    assert not page.locator(".result").is_visible()
    page.fill("#sentence", SENTENCE)
    assert (
        not translated(page).locator(".cut").is_visible()
        and not page.locator("#sentence-problem").is_visible()
    )


@pytest.mark.parametrize(
    "text, words, direction",
    [
        ("היא מעולם לא", ["היא", "מעולם", "לא"], "rtl"),
        ("دخلت المدينة", ["دخلت", "المدينة"], "rtl"),
        ("彼女は パリ", ["彼女は", "パリ"], "ltr"),
        ("👩‍👩‍👧 🙂 é", ["👩‍👩‍👧", "🙂", "é"], "ltr"),
    ],
    ids=["hebrew", "arabic", "japanese", "emoji"],
)
def test_any_script(open_page, text, words, direction):
    page = open_page(f"?text={urllib.parse.quote(text)}")
    panel = translated(page, text)
    assert texts(panel.locator("ol.source .word")) == words
    assert (
        panel.locator(".translation").evaluate("each => getComputedStyle(each).direction")
        == direction
    )
    assert (
        page.locator("#sentence").evaluate("each => getComputedStyle(each).direction") == direction
    )
    panel.locator("ol.source .word").first.hover()
    # apart from what stands around it
    assert f"“\u2068{words[0]}\u2069”" in panel.locator(".readout").inner_text()


def test_pieces_of_scripts_without_spaces_stay_apart(open_page):
    page = open_page("?text=" + urllib.parse.quote("東京は雨 Tokyo") + "&model=pieces")
    panel = translated(page, "東京は雨 Tokyo")
    assert texts(panel.locator("ol.source .word")) == ["東京", "は雨", "Tokyo"]


def test_a_phone(open_page):
    page = open_page(
        f"?text={'+'.join(SENTENCE.split() * 4)}&beside=pieces",
        viewport={"width": 340, "height": 700},
        has_touch=True,
    )
    panel = translated(page, " ".join(SENTENCE.split() * 4))
    assert page.evaluate("document.scrollingElement.scrollWidth") == 340
    assert page.locator("#sentence").bounding_box()["width"] > 290
    panel.locator(".translation .word").first.tap()
    assert said(panel.locator(".readout")).startswith("“HERE” looks at")


def test_accessibility(open_page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="expected the extra `browser`, which has axe",
    ).Axe()
    page = open_page(f"?text={SENTENCE}&beside=nothing", reduced_motion="reduce")
    panel = translated(page)
    page.locator(".panel .problem").nth(1).wait_for()
    page.click("summary")
    for scheme, width, follow in (
        ("light", 1200, False),
        ("light", 340, True),
        ("dark", 340, False),
        ("dark", 1200, True),
    ):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        (panel.locator(".translation .word").first if follow else page.locator("#sentence")).focus()
        found = axe.run(page)
        assert not found.response["violations"], f"{scheme} {width}: {found.generate_report()}"
        assert len(found.response["passes"]) > 20
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 28)"
        ) == (scheme == "dark")
