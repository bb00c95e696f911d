"""The checker of the storms bites: each broken promise, made up, is seen."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.acceptance.stage.clients import Api
from tests.acceptance.stage.storm import Verdict, Wish

PLAIN = Wish("000001 plain", "plain", "+15552000001", None, id=1)
FIRST = Wish("000002 ordered", "ordered", "+15551000001", "key-2", id=2)
SECOND = Wish("000003 ordered", "ordered", "+15551000001", "key-3", id=3)
FATAL = Wish("000004 fatal", "fatal", "+1555000131026", "key-4", id=4)
ALL = [PLAIN, FIRST, SECOND, FATAL]


def view(wish: Wish, status: str = "DELIVERED", error: str | None = None) -> dict[str, Any]:
    wamid = f"wamid {wish.id}"
    return {
        "id": wish.id,
        "payloadJson": wish.message["payloadJson"],
        "status": status,
        "errorCode": error,
        "providerMessageId": wamid,
    }


def verdict(**changes: Any) -> Verdict:
    facts: dict[str, Any] = {
        "strikes": 1,
        "posted": list(ALL),
        "in_doubt": [],
        "accepted": {wish.mark: [f"wamid {wish.id}"] for wish in ALL[:3]},
        "views": [view(PLAIN), view(FIRST), view(SECOND), view(FATAL, "FAILED", "131026")],
        "screens": {FIRST.to: [{"text": FIRST.mark}, {"text": SECOND.mark}]},
    }
    return Verdict(**facts | changes)


def test_a_run_without_a_fault_passes() -> None:
    verdict().check()


@pytest.mark.parametrize(
    ("broken", "changes"),
    [
        ("lost", {"accepted": {wish.mark: [f"wamid {wish.id}"] for wish in ALL[1:3]}}),
        ("lost", {"views": [view(FIRST), view(SECOND), view(FATAL, "FAILED", "131026")]}),
        ("doubled", {"accepted": {wish.mark: [f"wamid {wish.id}"] * (wish.id or 0) for wish in ALL[:3]}}),
        ("doubled", {"views": [view(PLAIN), view(PLAIN), view(FIRST), view(SECOND), view(FATAL, "FAILED", "131026")]}),
        ("refused_but_sent", {"accepted": {wish.mark: [f"wamid {wish.id}"] for wish in ALL}}),
        ("reordered", {"screens": {FIRST.to: [{"text": SECOND.mark}, {"text": FIRST.mark}]}}),
        ("strangers", {"posted": ALL[1:]}),
        ("wrong_end", {"views": [view(PLAIN, "SENT"), view(FIRST), view(SECOND), view(FATAL, "FAILED", "131026")]}),
        ("wrong_end", {"views": [view(PLAIN), view(FIRST), view(SECOND), view(FATAL, "FAILED", "131000")]}),
        ("wrong_end", {"accepted": {wish.mark: ["another"] for wish in ALL[:3]}}),
        ("lost", {"posted": ALL[1:], "in_doubt": [PLAIN], "accepted": {w.mark: [f"wamid {w.id}"] for w in ALL[1:3]}}),
    ],
)
def test_a_broken_promise_is_seen(broken: str, changes: dict[str, Any]) -> None:
    found = verdict(**changes)
    assert getattr(found, broken)
    with pytest.raises(AssertionError):
        found.check()


class Restless(Api):
    """Of an org with one message, whose try is given up and queued again right after the first question."""

    async def get(self, path: str) -> Any:
        status = "QUEUED" if self.headers else "SENDING"
        self.headers["asked"] = "before"
        if "paginated" in path:
            return {"content": [view(PLAIN, status)], "totalElements": 1}
        return [view(PLAIN, status)] if f"status={status}&" in path else []


async def test_a_message_that_goes_back_while_one_looks_is_still_on_its_way() -> None:
    async with aiohttp.ClientSession() as session:
        assert await Restless(session, "", {}).on_the_way()
        assert not await Restless(session, "", {}).on_the_way(but={1})
