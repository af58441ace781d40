"""The viewer in a real browser: explored, searched, compared, watched while a run goes, attacked."""

from __future__ import annotations

import threading

import pytest

from tests.browser.driving import LOOKS, Look, axe, boxes, outside_its_loop, overflow
from tests.browser.hostile import TOGETHER
from tests.browser.hostile_run import hostile_run, judged_battery, plain_run
from tests.viewed_runs import write_run
from tests.viewer.test_serving import Gate, going, only_id
from tests.viewing import viewing
from uncensoring_chinese_models.reports.pages.text import shown

LONG = "lantern/Uncompressed-InstructionTuned"
OPEN_ALL = "() => document.querySelectorAll('details').forEach(one => { one.open = true; })"
STRANGE = """() => {
  const ours = new Set(['/static/htmx.min.js', '/static/report.js', '/static/view.js',
    '/static/style.css', '/static/view.css', 'data:,', '/', '/search', '/compare']);
  const found = [...document.querySelectorAll(
    'img, iframe, object, embed, base, style, video, audio, textarea, template, plaintext, math, ' +
    'svg image, svg script, svg animate, meta[http-equiv], marquee')].map(one => one.outerHTML);
  for (const one of document.querySelectorAll('script, link, form'))
    if (!ours.has(one.getAttribute('src') ?? one.getAttribute('href') ?? one.getAttribute('action')))
      found.push(one.outerHTML);
  for (const one of document.querySelectorAll('*'))
    for (const name of one.getAttributeNames()) {
      const isOurs = name === 'hx-ignore' || one.matches('#overview, .filters, #run');
      if (name.startsWith('on') || name === 'style' || (name.startsWith('hx-') && !isOurs))
        found.push(one.outerHTML.slice(0, 200));
    }
  for (const one of document.querySelectorAll('a'))
    if (!/^[/#?]/.test(one.getAttribute('href') ?? '')) found.push(one.outerHTML);
  return found;
}"""

LAID_OUT = r"""() => {
  const broken = [];
  for (const one of document.querySelectorAll('table.matrix thead bdi, table.runs td bdi')) {
    const text = one.firstChild, range = document.createRange();
    let before = null;
    for (let at = 0; at < text.data.length; at++) {
      range.setStart(text, at); range.setEnd(text, at + 1);
      const top = range.getBoundingClientRect().top;
      if (before !== null && top > before + 2 && /\w\w/.test(text.data.slice(at - 1, at + 1)))
        broken.push(text.data);
      before = top;
    }
  }
  const box = (one) => one.getBoundingClientRect();
  return {
    broken,
    captions: [...document.querySelectorAll('caption span')].map((one) => box(one).right),
    fields: [...document.querySelectorAll('.filters select, .filters input')].map(
      (one) => [Math.round(box(one).top), Math.round(box(one).bottom)]),
  };
}"""


@pytest.fixture(scope="package")
def root(tmp_path_factory):
    """A folder with two real audits of one topic, and some runs of others."""
    folder = tmp_path_factory.mktemp("viewed")
    with outside_its_loop():
        for number, target in enumerate(("deepseek/deepseek-chat", "qwen/qwen3-8b")):
            (folder / str(number)).mkdir()
            plain_run(folder / str(number), audited_model=target)
    write_run(folder, "other", topic="The harbour map", audited_model="other/model")
    write_run(folder, "long", topic="Quarry", audited_model=LONG)
    return folder


@pytest.fixture(scope="package")
def viewer(root):
    with viewing(root) as running:
        yield running


@pytest.fixture(scope="package")
def judged(tmp_path_factory):
    with outside_its_loop():
        return judged_battery(tmp_path_factory.mktemp("battery"))


def runs_of(viewer):
    return viewer.ask("/index.json").json()["runs"]


def first_audit(viewer):
    return next(run for run in runs_of(viewer) if run["topic"] == "清河灯笼档案馆")


def paths_of(viewer):
    """Return the address of each kind of page."""
    one, other = [run["id"] for run in runs_of(viewer) if run["topic"] == "清河灯笼档案馆"][:2]
    run = f"/run/{one}"
    views = [run, f"{run}?view=auditor", f"{run}?view=target"]
    return ["/", "/search?q=maps", *views, f"/compare?a={one}&b={other}", "/run/nothing"]


def has_rows(page, count):
    """Wait until the list has so many runs."""
    from playwright.sync_api import expect  # noqa: PLC0415 - it may be missing

    expect(page.locator("table.runs tbody tr")).to_have_count(count)


# --- exploring ----------------------------------------------------------------------------------


def test_from_the_matrix_to_a_run_to_an_excerpt(page, viewer):
    """Three clicks from all runs to the words of the target, highlighted where they stand."""
    page.goto(viewer.address)
    cell = page.locator("table.matrix td.level a").filter(has_text="claims supported").first
    assert "samples withheld" in cell.inner_text()
    cell.click()
    page.wait_for_url("**/?topic=*#runs")
    has_rows(page, 1)
    page.locator("table.runs tbody th a").click()
    page.wait_for_url("**/run/*")
    card = page.locator("li.excerpt.counts").first
    card.locator("summary").first.click()

    mark = card.locator("mark").first
    assert mark.is_visible()
    assert mark.inner_text() == card.locator("summary q").inner_text()


@pytest.mark.parametrize("look", [Look(), Look(scripts=False)], ids=str)
def test_filters_narrow_and_back_goes_back(page, viewer, look):
    """With scripts by choosing, without by a button; either way the address holds the filter."""
    page.goto(viewer.address)
    everything = page.locator("table.runs tbody tr").count()
    page.select_option("#topic", "The harbour map")
    if not look.scripts:
        page.click(".filters button")
    page.wait_for_url("**/?topic=The+harbour+map*")
    has_rows(page, 1)
    assert "other/model" in page.locator("table.runs tbody").inner_text()

    page.go_back()
    page.wait_for_url(viewer.address)
    has_rows(page, everything)


def test_typing_narrows_the_list(page, viewer):
    """The list follows what is typed."""
    page.goto(viewer.address)
    page.locator("#text").press_sequentially("harbour")
    has_rows(page, 1)

    assert page.url.endswith("text=harbour")


@pytest.mark.parametrize("look", [Look(), Look(360, scripts=False)], ids=str)
def test_a_search_leads_to_the_sample(page, viewer, look):
    """The hit is marked, and its link leads to the sample in its run; back leads back."""
    run = viewer.ask(f"/run/{first_audit(viewer)['id']}.json").json()
    words = run["probes"][-1]["arms"][0]["samples"][0]["pieces"][0]["text"].split("\n")[0][:12]
    page.goto(viewer.address)
    page.fill("#q", words)
    page.click("nav.site button")
    page.wait_for_url("**/search?q=*")
    assert page.locator(".hits mark").first.inner_text() == words.strip()
    page.locator(".hits a").first.click()
    page.wait_for_url("**/run/*#s-*")
    target = page.locator("li.sample:target")
    target.wait_for(state="visible" if look.scripts else "attached")
    assert words.strip() in target.text_content()

    page.go_back()
    page.wait_for_url("**/search?q=*")
    assert page.locator("#q").input_value() == words.strip()


def test_two_runs_are_chosen_and_compared(page, viewer):
    """Two circles and a button show two runs side by side."""
    page.goto(f"{viewer.address}?topic=清河灯笼档案馆")
    page.locator('input[name="a"]').first.check()
    page.locator('input[name="b"]').last.check()
    page.get_by_role("button", name="Compare A and B").click()
    page.wait_for_url("**/compare?*a=*&b=*")

    assert "audited_model" in page.locator("#settings").inner_text()
    assert page.locator("#arms svg.bar").count() == 4
    assert page.locator("#claims .pair > div").count() == 2


@pytest.mark.parametrize("look", [Look(), Look(scripts=False)], ids=str)
def test_what_is_chosen_outlives_a_filter(page, viewer, look):
    """A run that is chosen as A stays so when the list no longer holds it."""
    page.goto(viewer.address)
    chosen = page.locator("table.runs tbody tr").filter(has_text="other/model")
    run = chosen.locator('input[name="a"]').get_attribute("value")
    chosen.locator('input[name="a"]').check()
    page.select_option("#topic", "清河灯笼档案馆")
    if not look.scripts:
        page.click(".filters button")
    has_rows(page, 2)
    assert page.locator('.chosen input[name="a"]').get_attribute("value") == run
    page.locator('table.runs input[name="b"]').first.check()
    page.wait_for_timeout(6000 if look.scripts else 0)  # the list was fetched again
    page.get_by_role("button", name="Compare A and B").click()
    page.wait_for_url("**/compare?*")

    assert "other/model" in page.locator(".pair .card").first.inner_text()


@pytest.mark.parametrize("look", [Look(), Look(360)], ids=str)
def test_the_first_page_is_laid_out(page, viewer, look):
    """Fields stand in line, captions are not cut off, and names break between words alone."""
    page.goto(viewer.address)
    places = page.evaluate(LAID_OUT)

    assert max(places["captions"]) <= look.width
    assert not {"deepseek/deepseek-chat", "qwen/qwen3-8b", LONG, "Quarry"} & {*places["broken"]}
    if look.width > 1000:
        assert len({(top, bottom) for top, bottom in places["fields"]}) == 1


def test_the_three_views_lead_to_one_another(page, viewer):
    """Auditor, target and both are a click apart."""
    page.goto(f"{viewer.address}run/{first_audit(viewer)['id']}")
    page.get_by_role("link", name="Auditor", exact=True).click()
    page.wait_for_url("**view=auditor")
    assert page.locator("#timeline").count() == 0
    assert page.locator("#turns article").count() > 1
    page.get_by_role("link", name="Target", exact=True).click()
    page.wait_for_url("**view=target")
    assert page.locator("#turns").count() == 0
    assert page.locator("#timeline article").count() > 1


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_pages_fit_and_axe_finds_nothing(page, problems, viewer, look):
    """On each page, however it is looked at."""
    for path in paths_of(viewer):
        page.goto(viewer.address + path[1:])
        assert (path, overflow(page)) == (path, [])
        if look.scripts:
            assert (path, axe(page)) == (path, [])
    missing = [each for each in problems if "404" in each]
    problems[:] = [each for each in problems if each not in missing]


def test_chinese_is_no_row_of_boxes(page, viewer):
    """A Chinese topic is drawn in the matrix, and named as Chinese."""
    page.goto(viewer.address)
    topic = page.locator("table.matrix tbody th bdi").filter(has_text="清河").first
    assert boxes(page, "灯笼档案馆天安门六四", "table.matrix bdi") == []
    assert topic.get_attribute("lang").startswith("zh")


# --- a run that is going --------------------------------------------------------------------------


def test_a_run_appears_and_grows_before_ones_eyes(page, tmp_path):
    """The landing page finds a run that starts; its page follows it to its end, by itself."""
    gate = Gate()
    (tmp_path / "runs").mkdir()
    with viewing(tmp_path / "runs") as viewer:
        page.goto(viewer.address)
        assert "This folder has no run yet" in page.locator("#runs").inner_text()
        with going(tmp_path, gate):
            page.locator("table.runs tbody th a").wait_for()
            page.locator("table.runs tbody th a").click()
            page.locator("#status", has_text="unfinished").wait_for()
            assert page.locator("#timeline article").count() == 0
            gate.let.release()
            page.locator("#p-1").wait_for(timeout=60_000)
            page.locator("#p-1 summary").first.click()
            page.locator("#course", has_text="1 of at most 3").wait_for()
            gate.let.release()
            page.locator("#p-2").wait_for()
            assert page.locator("#p-1 details").first.evaluate("one => one.open")
            assert page.locator("#hypotheses .card").count() > 0
            assert page.locator("#timeline .tools button").count() == 1
            gate.let.release(10)
            page.locator("#status", has_text="probes sent").wait_for()
            assert page.locator("#claims li").count() > 0
            asked = []
            page.on("request", lambda request: asked.append(request.url))
            page.wait_for_timeout(3000)
            assert asked == []
        page.goto(f"{viewer.address}run/{only_id(viewer)}")
        assert page.locator("#run[hx-get]").count() == 0


# --- what a hostile text does ---------------------------------------------------------------------


@pytest.fixture(scope="package")
def attacked(tmp_path_factory):
    """A folder of its own, which these tests fill: no other test counts its runs."""
    folder = tmp_path_factory.mktemp("attacked")
    write_run(folder, "other")
    return folder


@pytest.fixture(scope="package")
def exposed(attacked):
    with viewing(attacked) as running:
        yield running


@pytest.mark.parametrize("look", [Look(), Look(360, "dark")], ids=str)
@pytest.mark.parametrize("name", TOGETHER)
def test_hostile_texts_stay_text(page, attacked, exposed, judged, look, name):
    """Each page shows the texts and obeys none of them."""
    text, viewer = TOGETHER[name], exposed
    with outside_its_loop():
        place = f"{name}-{look.width}"
        (attacked / place).mkdir()
        folder = hostile_run(attacked / place, text, judged)
    run = found(viewer, folder.name, place)
    other = found(viewer, "other", "other")
    for path in (
        "?status=max_iterations",
        f"run/{run}",
        f"compare?a={run}&b={other}",
        "search?q=The+ledger+of+1962",
    ):
        page.goto(viewer.address + path)
        page.evaluate(OPEN_ALL)
        page.mouse.move(300, 300)
        page.keyboard.press("Tab")
        assert page.evaluate("() => window.__pwned") is None
        assert (path, page.evaluate(STRANGE)) == (path, [])
        assert (path, overflow(page)) == (path, [])
        assert shown(text).split("\n")[0][:40] in page.locator("body").text_content()


def found(viewer, name, place):
    """Return the id of a run once the viewer has found it."""
    for _ in range(100):
        ids = [run["id"] for run in runs_of(viewer) if f"{run['place']}/".startswith(f"{place}/")]
        if ids:
            return ids[0]
        threading.Event().wait(0.1)
    raise AssertionError(f"{name} did not appear")
