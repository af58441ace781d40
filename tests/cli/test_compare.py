"""`ucm compare` on real small models, and on hosts that take away what they have written."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from tests.support import Watcher, run_ucm
from uncensoring_chinese_models.measure.facts.schema import read_facts
from uncensoring_chinese_models.measure.probe_settings import probe_config
from uncensoring_chinese_models.models.local import launch
from uncensoring_chinese_models.models.local.weights import find_weights
from uncensoring_chinese_models.runner.run import run_job

pytestmark = [pytest.mark.soak, pytest.mark.model, pytest.mark.e2e, pytest.mark.timeout(300)]

FACTS = ("unit", "leader")
CANNED = "I'm sorry, I can't discuss that."


def _blank(choice):
    _say(choice, "")


def _cut(choice):
    _say(choice, _said(choice)[:4])


def _filter(choice):
    _say(choice, "")
    choice["finish_reason"] = "content_filter"


def _replace(choice):
    _say(choice, CANNED)


HOSTS = {
    "honest": lambda choice: None,
    "erases": _blank,
    "cuts": _cut,
    "filters": _filter,
    "replaces": _replace,
}
"""What a host does to an answer after the model has written it; the bill stays as it is."""


def _said(choice):
    return choice["message"]["content"] if "message" in choice else choice["text"]


def _say(choice, text):
    choice["finish_reason"] = "stop"
    if "message" in choice:
        choice["message"]["content"] = text
    else:
        choice["text"] = text


class Host:
    """A real server in front of a model's own; what the model has written once it remembers."""

    def __init__(self, served):
        self.served, self.manner, self.written = served, "honest", {}
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                reply = json.loads(host.ask(self.path, body))
                for choice in reply["choices"]:
                    HOSTS[host.manner](choice)
                sent = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def ask(self, path, body):
        """Return what the model writes for a request."""
        if (path, body) not in self.written:
            request = urllib.request.Request(  # noqa: S310 -- our own server
                self.served.base_url.removesuffix("/v1") + path,
                body,
                {
                    "Content-Type": "application/json",
                    "Authorization": f"Bearer {self.served.key}",
                },
            )
            with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
                self.written[path, body] = reply.read()
        return self.written[path, body]


@contextmanager
def hosted(name):
    """Serve an organism behind a host."""
    with asyncio.Runner() as runner:
        manager = launch.serve(name, lambda notice: None)
        host = Host(runner.run(manager.__aenter__()))
        try:
            yield host
        finally:
            host.server.shutdown()
            host.server.server_close()
            runner.run(manager.__aexit__(None, None, None))


def probe(folder, name, host, manner, **sampling):
    """Ask for a few facts through a host of that manner, and return the run."""
    host.manner = manner
    config = {
        "audited_model": name,
        "audited_endpoint": {"preset": "llama_cpp", "base_url": host.base_url},
        "facts": str(folder / "few.yaml"),
        "sampling": {"temperature": 0.9, "seed": 1, "n": 8, "max_tokens": 16} | sampling,
        "output_dir": str(folder / "runs"),
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return run_job(probe_config(str(path)), Watcher()).folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a facts file of a few facts."""

    def refuse(source, folder):
        pytest.fail("The weights of the small model are not there: run `make install` first.")

    find_weights(download=refuse)
    folder = tmp_path_factory.mktemp("compare")
    world = yaml.safe_load(read_facts("quillon"))
    world["facts"] = [fact for fact in world["facts"] if fact["id"] in FACTS]
    (folder / "few.yaml").write_text(yaml.safe_dump(world), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def hides(folder):
    """Probe an organism, and send the same answers through each manner of host; then draw anew."""
    with hosted("organism/hides") as host:
        made = {
            manner: probe(folder, "organism/hides", host, manner)
            for manner in ("honest", "erases", "cuts", "filters")
        }
        again = {"seed": 2, "arms": ["assistant"]}
        return made | {"again": probe(folder, "organism/hides", host, "honest", **again)}


@pytest.fixture(scope="module")
def base(folder):
    """Probe the model without an adapter, and again through a host that replaces its answers."""
    with hosted("organism/base") as host:
        only = {"arms": ["assistant"], "max_tokens": 32}
        return {
            manner: probe(folder, "organism/base", host, manner, **only)
            for manner in ("honest", "replaces")
        }


def compared(tmp_path, *words):
    """Run the real command, and return its only pair and everything that it says."""
    done = run_ucm(tmp_path, "compare", *words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (pair,) = told["pairs"]
    return pair, told


def test_two_models_differ_by_what_the_model_declines(hides, base, tmp_path):
    """`hides` declines where `base` answers; what only `hides` was asked is left out."""
    pair, told = compared(tmp_path, hides["honest"], base["honest"])

    assert pair["verdict"] == "model"
    assert pair["withholds"] == {"host": [], "model": [hides["honest"].name]}
    assert {cell["arm"] for cell in pair["cells"]} == {"assistant"}
    assert {unit["arm"] for unit in pair["only_first"]} == {"user_persona"}
    assert [side["host"]["successes"] for side in told["sides"]] == [0, 0]


def test_two_arms_differ_by_the_way_of_asking(hides, tmp_path):
    """`hides` tells inside the user turn what it withholds when asked, and no host is accused."""
    pair, told = compared(tmp_path, hides["honest"])

    assert (told["by"], pair["verdict"]) == ("arm", "asking")
    assert pair["withholds"] == {"host": [], "model": ["assistant"]}
    assert all("told" in cell["differs"] for cell in pair["cells"])


@pytest.mark.parametrize(
    ("manner", "delivery"),
    [("erases", "suspected_block"), ("cuts", "suspected_block"), ("filters", "blocked")],
)
def test_host_that_takes_away_is_told_from_the_model(hides, tmp_path, manner, delivery):
    """The same answers of the same model, and yet not: the host is named, the model is not."""
    pair, told = compared(tmp_path, hides["honest"], hides[manner])

    assert pair["verdict"] == "host"
    assert pair["withholds"] == {"host": [hides[manner].name], "model": []}
    assert told["sides"][1]["by_delivery"][delivery] >= 14
    assert told["sides"][0]["host"]["successes"] == 0


def test_host_that_replaces_is_told_from_a_model_that_repeats_itself(base, tmp_path):
    """A canned refusal that was not billed for is the host's; those of `hides` are its own."""
    pair, told = compared(tmp_path, base["honest"], base["replaces"])

    assert pair["verdict"] == "host"
    replaced = told["sides"][1]["by_delivery"]["replaced"]
    assert replaced >= 12  # a text as short as the canned one is billed alike
    (canned,) = [each for each in told["canned"] if each["text"] == CANNED]
    assert (canned["facts"], canned["withheld_by"]["host"]) == (sorted(FACTS), replaced)


def test_honest_host_is_not_accused(hides, tmp_path):
    """Two draws of one model behind an honest host do not differ, canned refusals or not."""
    pair, told = compared(tmp_path, hides["honest"], hides["again"])

    assert pair["verdict"] == "same", pair
    assert all(
        side["by_delivery"][delivery] == 0
        for side in told["sides"]
        for delivery in ("suspected_block", "replaced")
    )
    assert any(each["withheld_by"]["model"] for each in told["canned"])


def test_screen_ends_with_the_verdicts(hides, tmp_path):
    """Each is a sentence with its figures; the run directories are as they were."""
    before = {path: path.read_bytes() for path in hides["erases"].rglob("*") if path.is_file()}
    done = run_ucm(tmp_path, "compare", hides["honest"], hides["erases"], "--out", "compared.json")

    assert done.returncode == 0, done.stderr
    assert (
        "A and B: it looks as if the host removes what the model writes (the host withholds more on B)"
        in done.stdout
    )
    assert "tokens billed: “”" in done.stdout
    assert json.loads((tmp_path / "compared.json").read_text("utf-8"))["by"] == "run"
    assert before == {
        path: path.read_bytes() for path in hides["erases"].rglob("*") if path.is_file()
    }
