"""The study as it is written: a page that shows runs of every kind, and files beside it."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import unquote

import pytest

from tests.judged_runs import TEXTS, judging_provider, probed
from tests.reports.test_study_figures import HOSTILE, SHAPES, Seen
from tests.study_runs import HandMade, asked_run, judge
from tests.support import audit_here, audited_provider
from uncensoring_chinese_models.cli.report import report
from uncensoring_chinese_models.errors import ConfigError, MissingExtraError, RunStoreError
from uncensoring_chinese_models.reports.study import png
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.reports.study.writing import make_tables, write_study
from uncensoring_chinese_models.runner.judging import judge_and_report

PAGE_TAGS = SHAPES | {
    *("html", "head", "meta", "style", "body", "a", "header", "p", "h1", "h2", "bdi", "main"),
    *("div", "dl", "dt", "dd", "nav", "ul", "li", "section", "figure", "figcaption", "table"),
    *("caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "footer", "code"),
    "script",
}


def read_page(folder, **options):
    paths = write_study(folder, **options)
    return paths[0].read_text("utf-8")


def test_real_runs_become_a_study(tmp_path):
    """An audit and a judged probe run, each made by the program, are counted as their files say."""
    with audited_provider() as provider:
        audited = audit_here(tmp_path, provider)
    with judging_provider() as provider:
        folder = probed(tmp_path, provider)
    judge_and_report(folder)

    paths = write_study(tmp_path / "runs", tmp_path / "out")

    names = {path.relative_to(tmp_path / "out").as_posix() for path in paths}
    assert {"index.html", "figures/matrix.svg", "figures/matrix.png", "figures/matrix.csv"} <= names
    facts = (tmp_path / "out/tables/facts.csv").read_text("utf-8").splitlines()
    # Of six texts two hold the figure, one of them after a "not", which denies it; one holds a decoy.
    assert "lamps,pine,deepseek/deepseek-chat,en,undecided,1,user_persona,1,6,0.16" in facts[1]
    refusal = (tmp_path / "out/tables/withheld_texts.csv").read_text("utf-8")
    rate = audited.summary["rates"]["withheld"]["by_arm"]["user_persona"]
    assert f",audit,user_persona,1,{rate['successes']},{rate['n']}," in refusal
    supported = audited.summary["denominators"]["claims"]["knowledge"]["supported"]
    matrix = (tmp_path / "out/tables/matrix.csv").read_text("utf-8")
    assert f"deepseek/deepseek-chat,audit,1,0,{supported}," in matrix
    assert len(TEXTS) == 6


def test_one_run_is_a_study_too(tmp_path):
    """It is too little to rank, and the page says so."""
    HandMade("a").write(tmp_path / "runs")

    page = read_page(tmp_path / "runs")

    assert "1 finished run: 1 audit" in page
    assert "too few: 1 of 3 runs" in page
    assert (tmp_path / "runs.study/index.html").is_file()


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_without_runs_is_refused(tmp_path, name):
    """Nothing is written for nothing."""
    (tmp_path / "empty").mkdir()

    with pytest.raises(RunStoreError, match=r"give|Give"):
        write_study(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_runs_that_cannot_be_used_still_make_a_page_that_says_why(tmp_path):
    """A reader must see what was left out, even if that is everything."""
    (HandMade("a").write(tmp_path / "runs") / "summary.json").unlink()

    page = read_page(tmp_path / "runs")

    assert "it has not finished" in page
    assert "1 more could not be used" in page


def test_the_same_runs_give_the_same_bytes(tmp_path):
    """No date, no order of a folder, no random name."""
    for name in "ab":
        judge(asked_run(name, model=f"m/{name}").write(tmp_path / "runs"), {"pine": "unknown"})

    first = {p.name: p.read_bytes() for p in write_study(tmp_path / "runs", tmp_path / "one")}
    second = {p.name: p.read_bytes() for p in write_study(tmp_path / "runs", tmp_path / "two")}

    assert first == second


def test_hostile_names_stay_text_on_the_page(tmp_path):
    """Topic, model, auditor, fact, verdict and folder are strangers' words."""
    runs = tmp_path / "runs <b>x"
    for number, text in enumerate(HOSTILE):
        HandMade(f"a{number}", model=text, topic=text, auditor=text).write(runs)
        path = asked_run(f"b{number}", model=text, topic=text).write(runs)
        judge(path, {text: "known but withheld", "x": text}, topic=text)

    page = read_page(runs)

    seen = Seen(page)
    assert set(seen.tags) <= PAGE_TAGS
    assert seen.tags.count("script") == 1
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert "\u202e" not in page
    assert "⟨U+202E⟩evil⟨U+001B⟩" in page


def test_the_page_needs_nothing_from_anywhere(tmp_path):
    """No address but our own files, and a policy that forbids the rest."""
    HandMade("a").write(tmp_path / "runs")

    page = read_page(tmp_path / "runs")

    assert "default-src 'none'" in unescape(page)
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    out = tmp_path / "runs.study"
    for link in links:
        assert link.startswith("#") or (out / link).is_file(), link
    assert ' style="' not in page


def test_tables_have_captions_and_scopes(tmp_path):
    """A screen reader says which column and row a number belongs to."""
    HandMade("a").write(tmp_path / "runs")

    page = read_page(tmp_path / "runs")

    assert page.count("<table") == page.count("<caption") > 5
    assert "<th>" not in page
    assert page.count('<th scope="row">') == page.count("<tr>") - page.count("<thead>")


def links_of(page):
    return [unquote(link) for link in re.findall(r'href="([^"]*report\.html)"', page)]


@pytest.fixture
def odd_run(tmp_path):
    """Return a run of the program with odd signs in its name, which was not judged."""
    with judging_provider() as provider:
        return probed(tmp_path, provider).rename(tmp_path / "runs/a b#1")


def test_each_run_is_linked_to_its_own_page(tmp_path, odd_run):
    """The latest that the program wrote; odd signs in a name do not break the link."""
    assert links_of(read_page(tmp_path / "runs")) == ["../runs/a b#1/report.html"]

    beside = tmp_path / "runs/a b#1.report.html"
    assert report(str(odd_run), out=str(beside)) == 0
    assert links_of(read_page(tmp_path / "runs")) == ["../runs/a b#1.report.html"]

    judge_and_report(odd_run)
    page = read_page(tmp_path / "runs")
    assert links_of(page) == ["../runs/a b#1.judged/report.html"]
    assert "a%20b%231" in page

    report(str(odd_run))
    assert links_of(read_page(tmp_path / "runs")) == ["../runs/a b#1.judged/report.html"]


@pytest.mark.parametrize("place", ["a b#1.judged/report.html", "a b#1.report.html"])
def test_no_page_of_a_stranger_is_linked(tmp_path, odd_run, place):
    """What lies where a report would, but is none, does not open from the study."""
    runs = odd_run.parent
    planted = runs / place
    planted.parent.mkdir(exist_ok=True)
    planted.write_text("<script>alert(1)</script>", "utf-8")

    assert links_of(read_page(runs)) == ["../runs/a b#1/report.html"]

    (odd_run / "report.html").write_text("<script>alert(2)</script>", "utf-8")
    assert links_of(read_page(runs)) == []


def test_figures_of_an_earlier_study_do_not_stay(tmp_path):
    """What the page no longer shows must not lie beside it; a stranger's file stays."""
    judge(asked_run("a").write(tmp_path / "runs"), {"pine": "unknown"})
    HandMade("b").write(tmp_path / "runs")
    write_study(tmp_path / "runs")
    mine = tmp_path / "runs.study/figures/mine.svg"
    mine.touch()
    (tmp_path / "runs/a.judged/lamps.json").unlink()

    write_study(tmp_path / "runs")

    assert not (tmp_path / "runs.study/figures/verdicts.svg").exists()
    assert not (tmp_path / "runs.study/figures/verdicts.png").exists()
    assert mine.exists()


def test_without_the_extra_figures_are_svg_and_it_says_so(tmp_path, monkeypatch):
    """The page does not promise files that are not there."""

    def missing():
        raise MissingExtraError("PNG files need resvg_py.")

    monkeypatch.setattr(png, "_renderer", missing)
    HandMade("a").write(tmp_path / "runs")
    said: list[str] = []

    page = read_page(tmp_path / "runs", say=said.append)

    assert said == ["PNG files need resvg_py."]
    assert ".png" not in page
    assert not list((tmp_path / "runs.study/figures").glob("*.png"))


def test_a_study_that_cannot_be_written_is_one_sentence(tmp_path):
    """A file in the way is the user's to move."""
    HandMade("a").write(tmp_path / "runs")
    (tmp_path / "out").touch()

    with pytest.raises(RunStoreError, match="was left as it is"):
        write_study(tmp_path / "runs", tmp_path / "out")


def test_every_table_has_its_file(tmp_path):
    """What the page shows, anyone can compute with."""
    HandMade("a").write(tmp_path / "runs")

    write_study(tmp_path / "runs")

    names = {path.stem for path in (tmp_path / "runs.study/tables").glob("*.csv")}
    found = make_tables(gather(tmp_path / "runs", tmp_path))
    assert names == {table.name for table in found}


# --- where it may be written --------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "study", "audited_responses", "deep/er"])
def test_no_study_is_written_into_a_run(tmp_path, inside):
    """The summary of a run lists its files."""
    run = HandMade("a").write(tmp_path / "runs")
    before = sorted(run.rglob("*"))

    with pytest.raises(ConfigError, match="lies in a run directory"):
        write_study(tmp_path / "runs", run / inside)
    assert sorted(run.rglob("*")) == before


def test_a_folder_that_is_no_study_is_left_as_it_is(tmp_path):
    """A site with a page and figures of the same names is somebody's work."""
    HandMade("a").write(tmp_path / "runs")
    site = tmp_path / "site"
    (site / "figures").mkdir(parents=True)
    (site / "index.html").write_text("<h1>Mine</h1>", "utf-8")
    (site / "figures/verdicts.png").write_bytes(b"mine")

    with pytest.raises(RunStoreError, match="is not a study of this program"):
        write_study(tmp_path / "runs", site)
    with pytest.raises(RunStoreError, match="is not a study of this program"):
        write_study(tmp_path / "runs", tmp_path / "runs")
    assert (site / "index.html").read_text("utf-8") == "<h1>Mine</h1>"
    assert [path.name for path in (site / "figures").iterdir()] == ["verdicts.png"]


def test_a_study_removes_only_what_a_study_wrote(tmp_path):
    """Figures that there are none of now go; a file of the same kind that it did not write stays."""
    path = asked_run("a").write(tmp_path / "runs")
    judge(path, {"pine": "known and said"})
    out = tmp_path / "out"
    write_study(tmp_path / "runs", out)
    assert (out / "figures/verdicts.svg").is_file()
    (tmp_path / "runs/a.judged/lamps.json").unlink()
    (out / "figures/notes.png").write_bytes(b"mine")

    write_study(tmp_path / "runs", out)
    (out / "figures/verdicts.svg").write_bytes(b"mine, later")
    write_study(tmp_path / "runs", out)

    assert not (out / "figures/verdicts.csv").exists()
    assert (out / "figures/verdicts.svg").read_bytes() == b"mine, later"
    assert (out / "figures/notes.png").read_bytes() == b"mine"


@pytest.mark.parametrize("of_one_run", [True, False])
def test_a_name_cannot_act_on_the_terminal(tmp_path, capsys, of_one_run):
    """What is printed spells out what a terminal would obey."""
    runs = tmp_path / "runs\x1b[31m"
    run = HandMade("a\x1b]0;x\x07").write(runs)
    out = tmp_path / "out\x1b[2J.html"

    if of_one_run:
        with audited_provider() as provider:
            run = audit_here(tmp_path, provider).folder.rename(tmp_path / "r\x1b[2J")
    report(str(run if of_one_run else runs), out=str(out))

    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert "out⟨U+001B⟩[2J.html" in told.out


def test_no_report_is_written_into_any_run(tmp_path):
    """Neither into its own nor into another's."""
    with audited_provider() as provider:
        run = audit_here(tmp_path, provider).folder
    other = HandMade("b").write(tmp_path / "runs")

    for place in (run / "x.html", other / "x.html", other):
        with pytest.raises(ConfigError, match="lies in a run directory"):
            report(str(run), out=str(place))
