"""The figures of a study: their numbers, their labels, and that they can be printed."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import pytest

from tests.study_runs import ANSWER, REFUSAL, HandMade, asked_run, colours_of, judge
from uncensoring_chinese_models.reports.pages.charts import slug
from uncensoring_chinese_models.reports.pages.render import asset
from uncensoring_chinese_models.reports.study.figures import make_figures
from uncensoring_chinese_models.reports.study.gather import gather
from uncensoring_chinese_models.reports.study.png import draws_apart, font_problem, to_png
from uncensoring_chinese_models.reports.study.writing import make_tables
from uncensoring_chinese_models.reports.svg import (
    COLUMN,
    PAGE,
    VERDICTS,
    fit,
    fonts_for,
    width_of,
)

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>",
    "</text></svg><svg onload=alert(1)>",
    "]]><!--",
    "\u202eevil\x1b[2J",
    "=cmd|' /C calc'!A0",
)
SHAPES = {"svg", "title", "defs", "pattern", "rect", "line", "circle", "path", "text"}


class Seen(HTMLParser):
    """What a browser would make of a figure."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.texts.append(data)


def drawn(folder):
    return {figure.name: figure for figure in make_figures(make_tables(gather(folder, folder)))}


@pytest.fixture
def figures(tmp_path):
    replies = ({"assistant": [REFUSAL] * 3 + [ANSWER], "user_persona": [ANSWER] * 4},)
    for number in range(3):
        HandMade(f"a{number}", replies=replies).write(tmp_path)
    HandMade("b", model="other/two", cost=(0.0, 0.125), replies=replies).write(tmp_path)
    path = asked_run("c", topic="灯").write(tmp_path)
    judge(path, {f"f{n}": "known but denied" if n else "known and said" for n in range(7)})
    return drawn(tmp_path)


def test_every_figure_of_a_paper_is_there(figures):
    """Matrix, rankings, verdicts, arms and cost."""
    assert list(figures) == [
        *("matrix", "ranking_models", "ranking_topics"),
        *("verdicts", "withheld_texts", "cost"),
    ]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("ranking_models", ("value", "low", "high")),
        ("verdicts", ("known and said", "known but denied")),
        ("withheld_texts", ("value",)),
        ("cost", ("total_usd",)),
    ],
)
def test_the_data_beside_a_figure_gives_the_numbers_that_it_shows(figures, name, columns):
    """Whoever draws it anew from the CSV gets the same figure."""
    figure = figures[name]
    shown = " ".join(Seen(figure.svg).texts)
    rows = list(csv.DictReader(io.StringIO(figure.table.as_csv())))

    kept = [row for row in rows if not row.get("remark")]  # what is too few is shown without
    for row in kept:
        for column in columns:
            if row[column] and "." in row[column]:
                digits = 4 if column.endswith("usd") else 2
                assert f"{float(row[column]):.{digits}f}" in shown
            elif row[column] not in ("", "0"):
                assert row[column] in shown
    assert kept


def test_the_matrix_shows_what_its_rows_say(figures):
    """Audits by refusal with their claims, probe runs by what is withheld with the facts known."""
    rows = {(row["kind"], row["model"]): row for row in figures["matrix"].table.dicts()}
    shown = " ".join(Seen(figures["matrix"].svg).texts)

    assert rows["audit", "maker/one"]["texts_withheld_or_blocked"] == 0.75
    assert rows["probe", "maker/one"]["facts_withheld_or_blocked"] == 6 / 7
    assert "maker/one 0.75 3 runs 1.0 claims other/two 0.75 1 run 1.0 claims" in shown
    assert "maker/one 0.86 1 run 7 known" in shown


def test_a_point_stands_where_its_number_says(tmp_path):
    """Half way along the scale for one half."""
    for name in "abc":
        HandMade(name, replies=({"assistant": [REFUSAL, ANSWER]},)).write(tmp_path)

    svg = drawn(tmp_path)["ranking_models"].svg

    scale = [float(x) for x in re.findall(r'<line x1="([\d.]+)" y1="22"', svg)]
    (x,) = {float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)}
    assert len(scale) == 5
    assert x == pytest.approx((scale[0] + scale[-1]) / 2)


def test_nothing_is_told_by_colour_alone(figures):
    """Verdicts have patterns, arms have shapes, and numbers stand in the cells."""
    assert 'fill="url(#verdicts-falling)"' in figures["verdicts"].svg
    refusal = figures["withheld_texts"].svg
    assert refusal.count("<circle") >= 3  # one arm
    assert refusal.count('<path d="M') >= 3  # the other


def test_figures_fit_a_column_or_a_page(tmp_path):
    """With many topics the matrix takes the width of a page."""
    for number in range(9):
        HandMade(f"r{number}", topic=f"Topic {number}").write(tmp_path)

    widths = {
        name: float(re.findall(r'viewBox="0 0 ([\d.]+)', figure.svg)[0])
        for name, figure in drawn(tmp_path).items()
    }

    assert widths.pop("matrix") == PAGE
    assert set(widths.values()) == {float(COLUMN)}


def test_hostile_names_stay_text_in_figures(tmp_path):
    """Names of models, topics and arms come from configs that strangers write."""
    for number, text in enumerate(HOSTILE):
        replies = ({"assistant": [REFUSAL], text: [ANSWER]},)
        HandMade(f"a{number}", model=text, topic=text, replies=replies).write(tmp_path)
        judge(asked_run(f"b{number}", model=text, topic=text).write(tmp_path), {text: "unknown"})

    for figure in drawn(tmp_path).values():
        seen = Seen(figure.svg)
        assert set(seen.tags) <= SHAPES
        assert not [name for name in seen.attributes if name.startswith("on")]
        assert seen.tags.count("svg") == figure.svg.count("<svg") == 1
        assert "\u202e" not in figure.svg
        assert "\x1b" not in figure.svg


@pytest.mark.parametrize(
    "text", ["deepseek/deepseek-chat-v3-0324", "六四事件和天安门广场", "short"]
)
def test_a_shortened_name_keeps_both_ends_and_fits(text):
    """What tells versions apart stands at the end."""
    found = fit(text, 70)

    assert width_of(found) <= 70
    assert found == text or (found[0] == text[0] and found[-1] == text[-1] and "…" in found)


@pytest.mark.parametrize(
    ("text", "fonts"),
    [("T1 天安門廣場", "'Noto Sans CJK TC'"), ("六四", "'Noto Sans CJK SC'"), ("June 4", "None")],
)
def test_chinese_names_are_set_in_a_font_of_their_script(text, fonts):
    """A page in simplified characters must not be drawn with traditional forms."""
    assert str(fonts_for(text)).startswith(fonts)


@pytest.mark.parametrize("verdict", [name for name in VERDICTS if name.startswith("known")])
def test_a_verdict_has_the_same_colour_in_a_study_and_on_the_page_of_a_run(verdict):
    """There is one palette: the style of the pages repeats the colours of the kit."""
    colour, _ = VERDICTS[verdict]

    assert f".sorted-{slug(verdict)} {{ fill: {colour}; background: {colour}; }}" in asset(
        "style.css"
    )


# --- PNG ----------------------------------------------------------------------------------------


def test_png_opens_and_shows_something(figures):
    """Three hundred dots an inch, 85 mm wide, with more on it than paper."""
    width, height, colours = colours_of(to_png(figures["verdicts"].svg))

    assert width == pytest.approx(85 / 25.4 * 300, abs=1)
    assert height > 100
    assert b"\xff\xff\xff\xff" in colours
    assert b"\xd5\x5e\x00\xff" in colours  # known but denied
    assert len(colours) > 10


def test_letters_are_drawn_with_the_fonts_of_the_machine(figures):
    """Without any font, a figure would be shapes without a word."""
    assert draws_apart("i", "M")
    assert font_problem([figures["cost"].svg]) == (True, None)


def test_without_fonts_it_says_so_and_draws_no_png(figures):
    """One sentence that says what was written, and what to do."""
    is_possible, said = font_problem([figures["cost"].svg], system_fonts=False)

    assert not is_possible
    assert said is not None
    assert "SVG only" in said
