"""A host that blocks is recognised in every known shape, over a real socket, and what looks alike is not."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from tests.provider import Provider
from tests.provider.fault import Fault
from tests.running import KEY
from tests.support import ROOT
from uncensoring_chinese_models.config import remember_secret
from uncensoring_chinese_models.config.endpoints import Endpoint
from uncensoring_chinese_models.domain import Call, CallKey
from uncensoring_chinese_models.errors import (
    ClientError,
    FatalError,
    RejectedError,
    TransientError,
)
from uncensoring_chinese_models.models.delivery import delivery_of
from uncensoring_chinese_models.models.http_api import HttpApi, open_session

pytestmark = pytest.mark.wire


class Row(NamedTuple):
    """One answer of a host, and what it must come out as."""

    name: str
    """The id in the collection of shapes; with a letter where one shape has several forms."""
    status: int
    body: Any
    """JSON, or text as it is."""
    outcome: str = ""
    """Of a look-alike: `ends` (the run), `retried`, `rejected`, `unknown`, or a delivery."""
    delivery: str = ""
    stage: str | None = None
    by: str | None = None
    shape: str = ""
    """The row of the program's table that must recognise it."""

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        is_text = isinstance(self.body, str)
        return (self.body if is_text else json.dumps(self.body, ensure_ascii=False)).encode()


_DATA = json.loads((ROOT / "tests/data/host_shapes.json").read_bytes())
SHAPES = [Row(**each) for each in _DATA["shapes"]]
LOOK_ALIKES = [Row(**each) for each in _DATA["look_alikes"]]
ROWS = 79
"""So many shapes the collection has; these are no body that a reply can have."""
NO_BODY = {
    "NF-01": "nothing was found",
    "WH-01": "nothing was found",
    "SO-05": "a canned sentence in the place of a text: `text/canned` recognises it",
    "SO-06": "the page hides a text that the server sends",
    "SO-08": "an empty text, which is a delivery of its own",
    "SO-09": "a stream that breaks off, as L-15",
    "SO-10": "a stream that never ends: it runs into the time limit",
}
OUTCOMES = {"ends": FatalError, "retried": TransientError, "rejected": RejectedError}
CALL = Call(
    CallKey(1, "target", "sample"),
    "chat",
    {"model": "x/y", "messages": [{"role": "user", "content": "Hi"}]},
)


def answer(row, call=CALL):
    """Send one call to a server that answers so, and return the reply or the error."""
    fault = Fault(name=row.name, about="", status=row.status, recode=lambda _: row.content)
    with Provider() as provider:
        provider.fail(fault)
        endpoint = Endpoint(preset="openrouter", base_url=provider.base_url)

        async def ask():
            async with open_session() as session:
                return await HttpApi(session, endpoint, None).complete(call)

        try:
            return asyncio.run(ask())
        except ClientError as err:
            return err


@pytest.mark.parametrize("row", SHAPES, ids=lambda row: row.name)
def test_host_that_blocks_is_recognised(row):
    """Each shape is a reply with the host's verdict, its row, what was stopped and by whom."""
    reply = answer(row)

    assert not isinstance(reply, ClientError), reply
    assert delivery_of(reply) == row.delivery
    assert (reply.block_shape, reply.block_stage, reply.blocked_by) == (
        row.shape,
        row.stage,
        row.by,
    )


@pytest.mark.parametrize("row", LOOK_ALIKES, ids=lambda row: row.name)
def test_what_looks_like_a_block_is_none(row):
    """A technical error stays one, whatever words it uses; what nothing explains is unknown."""
    found = answer(row)

    if row.outcome in ("complete", "empty"):
        assert delivery_of(found) == row.outcome
        return
    assert isinstance(found, OUTCOMES.get(row.outcome, ClientError))
    assert found.reason == ("unknown" if row.outcome == "unknown" else "technical")


def test_every_row_of_the_collection_has_a_body():
    """Each of the shapes is tested, or it is said why it has no body of its own."""
    tested = {row.name.rstrip("abcdef") for row in SHAPES}

    assert not tested & set(NO_BODY)
    assert len(tested | set(NO_BODY)) == ROWS
    assert {row.name[:4] for row in LOOK_ALIKES} >= {f"L-{n:02}" for n in range(1, 20)}


@pytest.mark.parametrize("name", ["OR-03", "OR-04", "DS-01", "MM-01a", "AL-04b"])
def test_hosts_own_words_are_kept_without_keys(name):
    """What the host sent is kept as it came, with what a router wrapped in it, but no key."""
    remember_secret(KEY)
    row = next(row for row in SHAPES if row.name == name)
    told = row.content.decode()
    whole = answer(row).host_answer
    leaky = row._replace(
        body=told.replace("ontent", f"ontent {KEY}").replace("input", f"input {KEY}")
    )

    kept = answer(leaky).host_answer

    assert ("raw" in whole) is (name in ("OR-03", "OR-04"))
    assert KEY not in kept
    assert KEY in leaky.body


def test_unknown_error_keeps_the_hosts_words():
    """A person must be able to read what a host said that nothing explains."""
    row = next(row for row in LOOK_ALIKES if row.name == "plain-403")

    assert '"Forbidden"' in answer(row).host_answer


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_prompt_that_is_repeated_is_not_the_hosts_word(api):
    """What was asked is known here, so an error that quotes it is told from a host that blocks."""
    asked = (
        "Every file of the ministry, said the clerk: output data may contain inappropriate content."
    )
    row = Row("x", 400, {"error": {"message": f"Could not parse: {asked}"}})
    body = (
        {"messages": [{"role": "user", "content": asked}]} if api == "chat" else {"prompt": asked}
    )
    call = Call(CALL.key, api, {"model": "x/y", **body})

    assert answer(row, call).reason == "unknown"
    assert answer(row).block_shape == "AL-01"
