"""Messages are found by their words over HTTP, a moment after they were written."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.integration.stage.harness import ON_SQLITE, Stage
from tests.integration.stage.thinking import wrote
from waypost.flow.operations import maintenance
from waypost.model.time import days, seconds

SEARCH, TALKS = "/api/v1/search", "/api/v1/conversations"


async def found(stage: Stage, query: str, count: int = 1, key: str | None = None, more: str = "") -> dict[str, Any]:
    """The page, once it has so many results."""

    async def look() -> dict[str, Any] | None:
        stage.manual.advance(seconds(0.3))
        page: dict[str, Any] = await stage.get(f"{SEARCH}?q={quote(query)}{more}", key=key)
        return page if len(page["results"]) == count else None

    page = await stage.eventually(look)
    assert page
    return page


async def person(stage: Stage, name: str) -> tuple[str, str]:
    """Their id and token."""
    user = (await stage.call("POST", "/api/v1/users", {"name": name, "role": "agent"})).json
    return user["user_id"], user["token"]


async def test_what_a_customer_wrote_is_found_with_its_words_marked(stage: Stage) -> None:
    await wrote(stage, "My Ordér 4711 is late", "never mind")
    page = await found(stage, "late order")
    (message,) = (await stage.get(f"{TALKS}/1/messages"))["messages"][1:]
    text = "My Ordér 4711 is late"
    assert page == {
        "results": [
            {"message": message, "conversation_id": "1", "snippet": {"text": text, "marks": [[3, 8], [17, 21]]}},
        ],
        "next_cursor": None,
        "has_more": False,
    }
    assert (await found(stage, "order", 0, key=stage.globex.key)) == {
        "results": [],
        "next_cursor": None,
        "has_more": False,
    }


async def test_pages_go_on_by_a_cursor_that_is_good_for_this_search_only(stage: Stage) -> None:
    await wrote(stage, *(f"order {n}" for n in range(5)))
    await found(stage, "order", 5)
    seen: list[str] = []
    cursor = ""
    while True:
        page = await stage.get(f"{SEARCH}?q=order&limit=2{cursor}")
        seen += [result["message"]["content"]["text"] for result in page["results"]]
        if not page["has_more"]:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == [f"order {n}" for n in (4, 3, 2, 1, 0)]
    for path, key in (
        (f"{SEARCH}?q=other", None),
        (f"{SEARCH}?q=order", stage.globex.key),
        (f"{TALKS}/1/messages?", None),
    ):
        refused = await stage.call("GET", f"{path}{cursor}", key=key)
        assert refused.status in (400, 404), refused


@ON_SQLITE
async def test_whatever_is_asked_is_answered_or_refused_by_name(stage: Stage) -> None:
    for query in ("***", '"', "a AND", "%", "\x00", "x" * 256, "-", "ö" * 100):
        assert (await stage.call("GET", f"{SEARCH}?q={quote(query)}")).status == 200, query
    for bad in ("", "?q=", f"?q={'x' * 257}", "?q=a&limit=0", "?q=a&limit=101", "?q=a&cursor=x"):
        assert (await stage.call("GET", f"{SEARCH}{bad}")).status == 400, bad
    for nowhere in ("7", "x", "0"):
        assert (await stage.call("GET", f"{SEARCH}?q=a&conversation_id={nowhere}")).status == 404


async def test_chats_are_found_by_their_members_and_what_is_taken_back_is_gone(stage: Stage) -> None:
    (ann, her_token), (bob, his_token), (_, other) = [await person(stage, name) for name in ("Ann", "Bob", "Cleo")]
    chat = (await stage.call("POST", TALKS, {"kind": "direct", "members": [bob]}, key=her_token)).json
    where = chat["conversation_id"]
    content = {"type": "text", "text": "the order is mine"}
    body = {"client_message_id": "one", "conversation_id": where, "content": content}
    posted = (await stage.call("POST", "/api/v1/messages", body, key=her_token)).json
    page = await found(stage, "ord", key=his_token)
    assert page["results"][0]["message"]["sender_id"] == ann
    assert page == await found(stage, "ord", key=his_token, more=f"&conversation_id={where}")
    await found(stage, "ord", 0, key=other)
    await found(stage, "ord", 0)
    assert (await stage.call("GET", f"{SEARCH}?q=ord&conversation_id={where}", key=other)).status == 404
    assert (await stage.call("DELETE", f"/api/v1/messages/{posted['message_id']}", key=her_token)).status == 204
    assert (await stage.get(f"{SEARCH}?q=ord", key=his_token))["results"] == []


async def test_what_is_older_than_the_setting_is_not_searched_any_more(stage: Stage) -> None:
    await wrote(stage, "an old order")
    await found(stage, "order")
    stage.manual.advance(days(366))
    await maintenance.prune_search(stage.world)  # or the worker did, a moment before
    assert (await stage.get(f"{SEARCH}?q=order"))["results"] == []
    assert len((await stage.get(f"{TALKS}/1/messages"))["messages"]) == 1
