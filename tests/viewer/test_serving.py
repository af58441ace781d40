"""The viewer over the wire: a real process, raw requests, and a run that is going."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import contextmanager
from html import escape

import pytest

from tests.provider import ScriptedTarget
from tests.support import (
    audited_provider,
    clean_environment,
    command,
    make_config,
    run_ucm,
    write_config,
)
from tests.viewed_runs import judge_run, write_run
from tests.viewing import viewing

pytestmark = pytest.mark.wire
HOSTILE = '<script>alert(1)</script><div hx-get="/steal" hx-trigger="load">\x1b[31m\u202e'


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with runs of several kinds, and something beside it that nobody may see."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "secret.txt").write_text("top secret")
    runs = folder / "runs"
    judge_run(write_run(runs / "a", "one"), "known and said", "unknown")
    judge_run(write_run(runs / "b", "two", audited_model="b/other"), "unknown", "unknown")
    write_run(runs / "a", "hostile", topic=HOSTILE, texts=[HOSTILE, "I can't discuss that."])
    (write_run(runs / "a", "damaged") / "summary.json").write_text("{")
    hollow = write_run(runs / "a", "hollow") / "summary.json"
    hollow.write_text(hollow.read_text().replace('"accepted": 1', '"rejected": 1'))
    nested = write_run(runs / "a", "nested") / "summary.json"
    deep = '{"a": ' * 600 + "1" + "}" * 600
    nested.write_text(nested.read_text().replace('"config": {', f'"config": {{"deep": {deep}, '))
    return runs


@pytest.fixture(scope="module")
def viewer(root):
    with viewing(root) as running:
        running.listing()
        yield running


# --- pages --------------------------------------------------------------------------------------


def test_the_landing_page_shows_the_matrix_and_the_runs(viewer):
    """Topics by models, each cell in words, and a row for each run."""
    page = viewer.ask("/")

    assert page.status == 200
    assert "3 audits: <b>3</b> of 6 judged samples withheld, 3 of 6 claims supported" in page.body
    assert "<b>0</b> of 1 known facts withheld or denied (2 judged, by run and" in page.body
    assert "no fact shown to be known (2 judged, by run and language)" in page.body
    assert all(f'href="/run/{each}"' in page.body for each in viewer.ids().values())
    assert "unreadable" in page.body


def test_each_page_is_there_for_programs(viewer):
    """The same address with .json holds the same as data."""
    ids = viewer.ids()
    run = viewer.ask(f"/run/{ids['one']}.json")
    hits = viewer.ask("/search.json?q=dawn").json()["hits"]
    compared = viewer.ask(f"/compare.json?a={ids['one']}&b={ids['two']}").json()

    assert run.headers["content-type"] == "application/json"
    assert run.json()["topic"] == "Quillon"
    assert {hit["name"] for hit in hits} == {"one", "two", "hollow", "nested"}
    assert compared["settings"] == [{"setting": "audited_model", "a": "a/target", "b": "b/other"}]
    assert [each["same"] for each in compared["facts"]] == [False, True]
    assert compared["arms"][0]["arm"] == "user_persona"


def test_filters_and_search_work_without_scripts(viewer):
    """A form's address alone narrows the list, and the hit is marked."""
    listed = viewer.ask("/?model=b%2Fother&topic=&status=&text=").body
    found = viewer.ask("/search?q=%E5%9B%B4%E5%B7%BE").body

    ids = viewer.ids()
    assert f'href="/run/{ids["two"]}"' in listed
    assert f'href="/run/{ids["one"]}"' not in listed
    assert "<mark>围巾</mark>" in found
    assert f'href="/run/{ids["one"]}#s-1-user_persona-1"' in found


def test_what_is_chosen_is_kept(viewer):
    """A and B stay chosen when the list is narrowed, whether or not it still holds them."""
    ids = viewer.ids()
    query = f"/?model=b%2Fother&a={ids['one']}&b={ids['two']}"
    body = viewer.ask(query).body

    for letter, name in (("a", "one"), ("b", "two")):
        inputs = [x for x in body.split("<input") if f'name="{letter}" value="{ids[name]}"' in x]
        assert [" checked>" in each for each in inputs] == [True]
    assert viewer.ask(query.replace("/?", "/index.json?")).json()["chosen"] == {
        "a": ids["one"],
        "b": ids["two"],
    }
    assert " checked" not in viewer.ask("/?a=nobody").body


@pytest.mark.parametrize(
    ("view", "has", "lacks"),
    [
        ("both", ['id="timeline"', 'id="turns"', 'id="provenance"'], []),
        ("auditor", ['id="hypotheses"', 'id="turns"'], ['id="timeline"', 'id="p-1"']),
        ("target", ['id="timeline"', 'id="s-1-user_persona-0"'], ['id="turns"', "Why not."]),
        ("rubbish", ['id="timeline"', 'id="turns"'], []),
    ],
)
def test_a_run_has_three_views(viewer, view, has, lacks):
    """Auditor, target, and both."""
    body = viewer.ask(f"/run/{viewer.ids()['one']}?view={view}").body

    assert all(each in body for each in has)
    assert not any(each in body for each in lacks)


def test_runs_that_cannot_be_read_say_why(viewer):
    """The page of a damaged run, and a comparison with it, name the file."""
    ids = viewer.ids()
    page = viewer.ask(f"/run/{ids['damaged']}")
    compared = viewer.ask(f"/compare?a={ids['one']}&b={ids['damaged']}")

    assert page.status == compared.status == 422
    assert "summary.json cannot be read" in page.body
    assert "summary.json cannot be read" in compared.body
    assert "error" in viewer.ask(f"/run/{ids['damaged']}.json").json()
    hollow = viewer.ask(f"/run/{ids['hollow']}")
    assert hollow.status == 422
    assert "cannot be shown" in hollow.body


def test_a_run_that_is_nested_too_deeply_says_so(viewer):
    """What cannot be made of it answers like that of any other run that cannot be shown."""
    ids = viewer.ids()
    answer = viewer.ask(f"/run/{ids['nested']}.json")
    both = f"a={ids['one']}&b={ids['nested']}"
    others = (f"/run/{ids['nested']}", f"/compare?{both}", f"/compare.json?{both}")

    assert answer.status == 422
    assert "nested too deeply" in answer.json()["error"]
    assert {viewer.ask(path).status for path in others} <= {200, 422}


def test_texts_of_models_are_text(viewer):
    """Wherever it stands, what a model wrote is escaped and its controls are spelled out."""
    run = viewer.ids()["hostile"]
    for path in ("/", f"/run/{run}", f"/run/{run}?view=target", "/search?q=steal"):
        body = viewer.ask(path).body
        assert "<script>alert" not in body
        assert '<div hx-get="/steal' not in body
        assert "\x1b" not in body
        assert "\u202e" not in body
        assert escape("⟨U+001B⟩[31m⟨U+202E⟩") in body
    queried = viewer.ask("/search?q=%3Cscript%3Ealert(1)%3C/script%3Ex").body
    assert "<script>alert" not in queried


# --- the guard ----------------------------------------------------------------------------------


def test_strangers_are_refused(viewer):
    """A rebound name, another origin, another site's request and a form that posts get nothing."""
    refused = [
        viewer.ask("/", host="evil.example"),
        viewer.ask("/", host=f"evil.example:{viewer.port}"),
        viewer.ask("/", origin="http://evil.example"),
        viewer.ask("/index.json", sec_fetch_site="cross-site"),
    ]

    assert [answer.status for answer in refused] == [403] * 4
    assert not any("Quillon" in answer.body for answer in refused)
    assert viewer.ask("/", "POST", content_length="0").status == 405
    assert viewer.ask("/", "DELETE").status == 405
    assert viewer.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/run/..%2f..%2fsecret.txt",
        "/run/%2e%2e/%2e%2e/secret.txt",
        "/run/..%5c..%5csecret.txt",
        "/static/..%2f..%2fguard.py",
        "/static/../guard.py",
        "/static/%2fetc%2fpasswd",
        "/run/%00",
        "/run/a%00.json",
        "/run/" + "a" * 3000,
        "/static/LICENSE.htmx",
        "/static/vendored.json",
        "//secret.txt",
    ],
)
def test_no_address_becomes_a_path(viewer, path):
    """Whatever is written into an address, it is a name that nothing bears."""
    answer = viewer.ask(path)

    assert answer.status == 404
    assert "secret" not in answer.body.replace("secret.txt", "")
    assert "root:" not in answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/?page=-1",
        "/?page=99999999999999999999",
        "/?page=x",
        "/?text=%00",
        "/?topic=%ff%fe",
        "/search?q=%00",
        "/search?q=%ed%a0%80&page=9",
        "/?a=b&a=c",
        "/compare",
        "/compare?a=x",
        "/compare?a=x&b=y",
    ],
)
def test_odd_queries_do_no_harm(viewer, path):
    """They are answered or refused in a sentence, and never with a fault of ours."""
    assert viewer.ask(path).status in (200, 400, 404)


def test_a_huge_query_is_refused(viewer):
    """Past a bound nothing is looked at."""
    assert viewer.ask("/?text=" + "x" * 10_000).status == 414
    assert viewer.ask("/?text=" + "x" * 60_000).status in (400, 414)
    assert viewer.ask("/").status == 200


def test_head_says_what_get_would(viewer):
    """HEAD has the headers and no body."""
    run = viewer.ids()["one"]
    for path in ("/", f"/run/{run}", "/static/view.css"):
        answer = viewer.ask(path, "HEAD")
        assert (answer.status, answer.body) == (200, "")
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_pages_are_not_kept_by_browsers(viewer):
    """Nothing of a run stays behind in a cache, and no server names itself."""
    headers = viewer.ask("/").headers

    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


# --- a run that is going ------------------------------------------------------------------------


class Gate:
    """A target that answers each request when it is let."""

    def __init__(self):
        self.let = threading.Semaphore(0)
        self.script = ScriptedTarget()

    def __call__(self, ask):
        assert self.let.acquire(timeout=60)
        return self.script(ask)


@contextmanager
def going(folder, gate):
    """Run the real command on three iterations, once it has begun; at its end it is let through."""
    with audited_provider(target=gate) as provider:
        config = make_config(provider, output_dir=str(folder / "runs"))
        started = subprocess.Popen(
            command("audit", write_config(folder, config), "--json"),
            env=clean_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not any((folder / "runs").glob("*/journal.jsonl")):
                assert started.poll() is None  # on a busy machine it takes long to start
                threading.Event().wait(0.1)
            yield
        finally:
            gate.let.release(100)
            assert started.wait(60) == 0


def only_id(viewer):
    return viewer.listing(lambda told: told["runs"])["runs"][0]["id"]


def until(viewer, path, has):
    """Ask again and again as a page does, until an answer has something; return it."""
    version = ""
    for _ in range(600):
        answer = viewer.ask(f"{path}{'&' if '?' in path else '?'}have={version}")
        assert answer.status in (200, 204)
        if answer.status == 200 and has(answer.body):
            return answer.body
        version = version_in(answer.body) or version
        threading.Event().wait(0.1)
    raise AssertionError("that never came")


def version_in(body):
    """Return the version that a page asks with."""
    return body.partition("have=")[2].partition('"')[0]


def test_a_run_is_seen_while_it_goes(tmp_path):
    """Its page has each probe as soon as it is answered, and asks no more once the run has ended."""
    gate = Gate()
    (tmp_path / "runs").mkdir()
    with viewing(tmp_path / "runs") as viewer, going(tmp_path, gate):
        run = f"/run/{only_id(viewer)}"
        first = viewer.ask(run).body
        assert f'hx-get="{run}?view=both&amp;have={version_in(first)}"' in first
        assert "No response has arrived yet" in first

        gate.let.release()
        one = until(viewer, f"{run}?view=target", lambda body: 'id="p-1"' in body)
        assert 'id="turns"' not in one
        assert "unfinished" in one
        assert f'hx-get="{run}?view=target&amp;have=' in one
        gate.let.release()
        until(viewer, run, lambda body: 'id="p-2"' in body)
        gate.let.release(10)
        ended = until(viewer, run, lambda body: "probes sent" in body)
        assert "hx-get" not in ended
        viewer.listing(lambda told: told["runs"][0]["status"] == "max_iterations")


@pytest.mark.parametrize("ending", ["", ".json"])
def test_whoever_has_the_present_version_is_sent_nothing(tmp_path, ending):
    """204 without a body says that a run has not changed; anything else gets the run."""
    journal = write_run(tmp_path, "going", ended=False) / "journal.jsonl"
    with viewing(tmp_path) as viewer:
        path = f"/run/{only_id(viewer)}{ending}"
        version = viewer.ask(f"/run/{only_id(viewer)}.json").json()["version"]
        same = viewer.ask(f"{path}?have={version}")
        assert (same.status, same.body) == (204, "")
        assert same.headers["cache-control"] == "no-store"
        assert viewer.ask(f"{path}?have={version}", "HEAD").status == 204
        for other in ("", "x", "%00", version[:-1], version * 9):
            assert viewer.ask(f"{path}?have={other}").status == 200

        with journal.open("ab") as file:
            file.write(b'{"type": "sent", "call": "001/target", "attempt": 1}\n')
        later = viewer.ask(f"{path}?have={version}")
        assert later.status == 200
        assert version not in later.body


def test_a_run_that_stopped_shows_its_last_error(tmp_path):
    """Whoever looks at an unfinished run reads what stopped it, as text."""
    journal = write_run(tmp_path, "stopped", ended=False) / "journal.jsonl"
    error = {"type": "attempt", "call": "001/target", "attempt": 1, "error": {"message": HOSTILE}}
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(error) + "\n")
    with viewing(tmp_path) as viewer:
        page = viewer.ask(f"/run/{only_id(viewer)}").body

    assert "<dt>last error</dt>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert HOSTILE not in page


def test_a_run_that_was_moved_is_missed_under_its_old_address(tmp_path):
    """It has the address of its new place; the old one says that nothing is there."""
    folder = write_run(tmp_path, "before", ended=False)
    with viewing(tmp_path) as viewer:
        path = f"/run/{viewer.ids()['before']}"
        assert viewer.ask(path).status == 200
        folder.rename(tmp_path / "after")
        assert viewer.ask(path).status == 404
        told = viewer.listing(lambda told: told["runs"][0]["name"] == "after")
        assert viewer.ask(f"/run/{told['runs'][0]['id']}").status == 200


# --- the command --------------------------------------------------------------------------------


def test_a_missing_folder_is_refused(tmp_path):
    """One sentence says so, to people and to programs."""
    for_people = run_ucm(tmp_path, "view")
    for_programs = run_ucm(tmp_path, "view", "nowhere", "--json")

    assert for_people.returncode == for_programs.returncode == 2
    assert "The folder outputs does not exist; nothing was started." in for_people.stderr
    assert json.loads(for_programs.stdout)["error"].startswith("The folder nowhere does not exist;")


def test_a_port_that_is_taken_is_refused(tmp_path):
    """Who names a port gets that one or a sentence."""
    with viewing(tmp_path) as viewer:
        done = run_ucm(tmp_path, "view", ".", "--port", viewer.port)

    assert done.returncode == 2
    assert f"Port {viewer.port} is taken" in done.stderr
    assert run_ucm(tmp_path, "view", ".", "--port", 70_000).returncode == 2


def test_without_the_extra_the_command_says_how_to_get_it(tmp_path):
    """Where starlette or uvicorn is missing, one sentence names the extra."""
    for library in ("starlette", "uvicorn"):
        broken = tmp_path / library
        (broken / library).mkdir(parents=True)
        (broken / library / "__init__.py").write_text("raise ImportError\n")
        done = run_ucm(tmp_path, "view", ".", PYTHONPATH=f"{broken}:{_source()}")
        assert done.returncode == 2
        assert "The viewer needs the extra `view`" in done.stderr


def _source():
    import uncensoring_chinese_models  # noqa: PLC0415

    return str(next(iter(uncensoring_chinese_models.__path__)).rpartition("/")[0])
