"""The report of a run, in a real browser: read, tabbed through, printed, and attacked."""

import json

import pytest

from tests.browser.driving import LOOKS, Look, axe, boxes, outside_its_loop, overflow, tab_stops
from tests.browser.hostile import HOSTILE, TOGETHER
from tests.browser.hostile_run import hostile_run
from uncensoring_chinese_models.reports.pages.render import report_html
from uncensoring_chinese_models.reports.pages.text import shown
from uncensoring_chinese_models.runs.reading import read_run

STRUCTURE = """() => ({
  made: [...document.querySelectorAll(
    'script, style, img, iframe, object, embed, form, base, link, meta, video, audio, input, ' +
    'textarea, template, plaintext, svg image, svg script, math')].map(one => one.tagName).sort(),
  handlers: [...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())
    .filter(name => name.startsWith('on') || name.startsWith('hx-') && name !== 'hx-ignore'),
  addresses: [...document.querySelectorAll('[href], [src], [action], [style]')]
    .flatMap(one => ['href', 'src', 'action', 'style'].map(name => one.getAttribute(name)))
    .filter(value => value && !value.startsWith('#')),
  sections: [...document.querySelectorAll('main > section')].map(one => one.id),
  policy: document.querySelectorAll('meta[http-equiv]').length,
  footer: document.querySelectorAll('body > footer').length,
})"""
OPEN_ALL = "() => document.querySelectorAll('details').forEach(one => { one.open = true; })"


def written(run):
    """Write the report of a run beside its files, and return its path."""
    path = run / "report.html"
    path.write_text(report_html(read_run(run)), "utf-8")
    return path


# --- what a reader sees ---------------------------------------------------------------------------


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_first_screen_says_what_was_found(page, plain, look):
    """Topic, models, verdict and picture come first, however the page is looked at."""
    page.goto(plain.as_uri())
    summary = json.loads((plain.parent / "summary.json").read_bytes())
    config = summary["config"]

    assert page.locator("h1").inner_text() == config["topic"]
    top = page.locator("header.top").inner_text()
    assert config["audited_model"] in top
    assert config["auditing_model"] in top
    sentences = page.locator("#verdict .verdict p").all_inner_texts()
    told = ("The auditor claims", "Sampled from inside", "The auditor describes", "The host has")
    for sentence, beginning in zip(sentences, told, strict=True):
        assert sentence.startswith(beginning)
    assert "Fluent text may be invented" in sentences[0]
    picture = page.locator("#verdict figure")
    assert picture.locator("svg").first.is_visible()
    if look.width > 1000:
        box = picture.bounding_box()
        assert box["y"] + box["height"] <= 800
    assert overflow(page) == []


_BROKEN_WORDS = """() => [...document.querySelectorAll('table :is(th, td)')]
  .filter(one => one.checkVisibility() && /^[a-z_]+$/.test(one.innerText.trim())).filter(one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const lines = [...range.getClientRects()].filter(box => box.width);
    return Math.max(...lines.map(box => box.bottom)) - Math.min(...lines.map(box => box.top)) > 34;
  }).map(one => one.innerText)"""


def test_a_telephone_breaks_no_word_of_a_table(page, plain):
    """A table that is too wide is scrolled by itself; "y e s" is nothing to read."""
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(plain.as_uri())

    assert page.evaluate(_BROKEN_WORDS) == []
    assert overflow(page) == []


def test_the_button_of_a_section_says_what_it_does(page, plain):
    """It opens all while something is closed, also when a reader opens and closes by hand."""
    page.goto(plain.as_uri())
    tools = page.locator("#timeline .tools")
    tools.filter(has_text="Open all").wait_for()
    page.evaluate(OPEN_ALL)
    tools.filter(has_text="Close all").wait_for()
    page.locator("#timeline summary").first.click()
    tools.filter(has_text="Open all").wait_for()
    tools.locator("button").click()
    tools.filter(has_text="Close all").wait_for()
    assert page.locator("#timeline details:not([open])").count() == 0


@pytest.mark.parametrize("look", [look for look in LOOKS if look.scripts], ids=str)
def test_axe_finds_nothing(page, plain, look):
    """Neither with everything closed, nor with everything open."""
    page.goto(plain.as_uri())
    assert axe(page) == []
    page.evaluate(OPEN_ALL)
    assert axe(page) == []
    assert overflow(page) == []


CARDS = """cards => cards.map(card => ({
  quote: card.querySelector('summary q').textContent,
  text: card.querySelector('.response').textContent,
  marks: [...card.querySelectorAll('.response mark')].map(mark => mark.textContent),
}))"""


@pytest.mark.parametrize("look", [Look(), Look(360, "dark", scripts=False)], ids=str)
def test_each_excerpt_is_marked_in_the_response_that_it_is_from(page, plain, look):
    """What counts is found highlighted within the whole text that the run's files hold."""
    page.goto(plain.as_uri())
    turns = sorted((plain.parent / "auditor_turns").glob("*.json"))
    checks = json.loads(turns[-1].read_bytes())["evidence_check"]
    stored = [(one, sample_of(plain.parent, one)["text"]) for one in checks if one["survives"]]
    cards = page.locator("li.excerpt.counts").evaluate_all(CARDS)

    assert stored
    expected = [(one["excerpt"], text[one["start"] : one["end"]], text) for one, text in stored]
    told = [(card["quote"], "".join(card["marks"]), card["text"]) for card in cards]
    assert sorted(told) == sorted(tuple(map(shown, each)) for each in expected)


def sample_of(run, check):
    """Return the stored sample that an excerpt was found in."""
    response = json.loads(
        (run / f"audited_responses/{check['found_iteration']:03d}.json").read_bytes()
    )
    (found,) = [
        sample
        for sample in response["samples"]
        if (sample["arm"], sample["index"]) == (check["arm"], check["sample"])
    ]
    return found


def test_a_click_on_an_excerpt_shows_it_highlighted(page, plain):
    """A reader sees the mark itself, in a colour of its own, and nothing before the click."""
    page.goto(plain.as_uri())
    card = page.locator("li.excerpt.counts").first
    mark = card.locator("mark").first
    assert not mark.is_visible()
    card.locator("summary").first.click()
    assert mark.is_visible()
    colour = "one => getComputedStyle(one).backgroundColor"
    assert mark.evaluate(colour) != card.locator(".response").first.evaluate(colour)


@pytest.mark.parametrize("look", [Look(), Look(scripts=False)], ids=str)
def test_the_keyboard_reaches_and_opens_every_disclosure(page, plain, look):
    """Tab comes by each one that is in sight, and Enter opens it."""
    page.goto(plain.as_uri())
    tab_stops(page)
    visible = page.locator("details > summary:visible")
    assert visible.count() > 5
    assert page.locator("details > summary[data-tabbed]").count() == visible.count()

    first = page.locator("li.excerpt details").first
    first.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert first.evaluate("one => one.open")
    assert first.locator(".response").first.is_visible()


def test_a_link_to_a_response_opens_what_hides_it(page, plain):
    """From a quote to the same response among its fellows."""
    page.goto(plain.as_uri())
    card = page.locator("li.excerpt.counts").first
    card.locator("summary").first.click()
    link = card.locator("p.where a")
    target = page.locator(link.get_attribute("href"))
    assert not target.is_visible()
    link.click()
    target.wait_for()
    assert target.locator("mark").first.is_visible()


@pytest.mark.parametrize("look", [Look(), Look(scheme="dark", scripts=False)], ids=str)
def test_it_prints(page, plain, look):
    """On paper there is text, on several pages, and dark screens do not print black."""
    page.goto(plain.as_uri())
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF-")
    assert len(paper) > 20_000
    page.emulate_media(media="print")
    colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert colour in {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}


def test_chinese_is_no_row_of_boxes(page, plain):
    """The characters of the topic are drawn, each in its own shape, and named as Chinese."""
    page.goto(plain.as_uri())
    assert boxes(page, "灯笼档案馆天安门六四", "h1") == []
    assert page.locator("h1 bdi").get_attribute("lang").startswith("zh")


# --- what a hostile text does ---------------------------------------------------------------------


@pytest.fixture(scope="package")
def harmless(browser, tmp_path_factory, judged):
    """What the same page is made of where nobody means any harm."""
    with outside_its_loop():
        path = written(hostile_run(tmp_path_factory.mktemp("harmless"), "no harm meant", judged))
    page = browser.new_page()
    page.goto(path.as_uri())
    found = page.evaluate(STRUCTURE)
    page.close()
    return found


def test_a_harmless_page_has_nothing_that_loads_or_runs_but_its_own(harmless):
    """One style, one script, one policy; no handler, and no address that leads out of it."""
    assert sorted(set(harmless["made"])) == ["META", "SCRIPT", "STYLE"]
    assert harmless["made"].count("SCRIPT") == harmless["made"].count("STYLE") == 1
    assert (harmless["handlers"], harmless["addresses"]) == ([], [])
    assert harmless["policy"] == harmless["footer"] == 1
    assert {"verdict", "facts", "claims", "hypotheses", "doctor"} <= set(harmless["sections"])


@pytest.mark.parametrize("look", [Look(), Look(360, "dark")], ids=str)
@pytest.mark.parametrize("name", TOGETHER)
def test_hostile_texts_stay_text(page, tmp_path, judged, harmless, look, name):
    """Wherever others can write, the page shows all the texts and obeys none of them."""
    text = TOGETHER[name]
    with outside_its_loop():
        path = written(hostile_run(tmp_path, text, judged))
    page.goto(path.as_uri())
    page.evaluate(OPEN_ALL)
    page.mouse.move(300, 300)
    page.keyboard.press("Tab")

    assert page.evaluate("() => window.__pwned") is None
    assert page.evaluate(STRUCTURE) == harmless
    assert page.locator("body").text_content().count(shown(text)) > 40
    assert overflow(page) == []


OBEYED = ("script", "image_error", "svg_load", "frame", "meta_refresh", "link", "style", "title")


@pytest.mark.parametrize("name", OBEYED)
def test_a_page_that_obeys_is_caught(page, problems, tmp_path, name):
    """The test above can fail: a page that escapes nothing is found out."""
    path = tmp_path / "obedient.html"
    path.write_text(f"<!doctype html><body>{HOSTILE[name]}</body>", "utf-8")
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_timeout(300)

    assert problems or page.evaluate("() => window.__pwned")
    problems.clear()
