"""Templates against the sandbox: synced when first needed, enforced once known, shown as the customer reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Answer, Stage
from tests.integration.stage.network import SANDBOX
from tests.integration.stage.webhooks import a_number
from waypost.adapters.whatsapp.templates import MOST_PAGES, CloudTemplates
from waypost.flow.sending import templates as flow
from waypost.model.time import as_seconds, hours, minutes, seconds
from waypost.ports.accounts.templates import NotFetched, TemplateAccount
from waypost.ports.platform.http_transport import ConnectionCut, HttpReply

TEMPLATES = "/api/v1/outbound/templates"
LATER = minutes(2)
TOKEN = "EAA/se+cret"


def text(value: str, name: str | None = None) -> dict[str, Any]:
    return {"type": "text", "text": value} | ({"parameter_name": name} if name else {})


def body(*parameters: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "body", "parameters": list(parameters)}]


ORDER = {"language": "en", "components": body(text("Ada"), text("7"))}


async def post(stage: Stage, name: str, payload: dict[str, Any]) -> Answer:
    return await stage.call("POST", MESSAGES, HELLO | {"templateCode": name, "payloadJson": payload})


async def refused(stage: Stage, name: str, payload: dict[str, Any], code: str, field: str) -> str:
    answer = await post(stage, name, payload)
    assert (answer.status, answer.code, answer.json["field"]) == (422, code, field), answer
    assert await stage.get(MESSAGES) == []
    return str(answer.json["detail"])


async def create(stage: Stage, name: str, *components: dict[str, Any], **more: Any) -> None:
    number = stage.acme.number
    definition = {"name": name, "language": "en", "category": "UTILITY", "components": list(components), **more}
    reply = await stage.network.request(
        "POST",
        f"{SANDBOX}/v25.0/{number.waba_id}/message_templates",
        headers={"authorization": f"Bearer {number.token}"},
        body=msgspec.json.encode(definition),
        timeout=5,
    )
    assert reply.status == 200, reply


# Before a message is stored


async def test_a_template_that_fits_is_sent(stage: Stage) -> None:
    posted = await stage.send(templateCode="order_confirmation", payloadJson=ORDER)
    await stage.becomes(posted["id"], "DELIVERED")


async def test_an_unknown_name_is_refused_with_what_is_near(stage: Stage) -> None:
    said = await refused(stage, "order_confirmaton", ORDER, "unknown_template", "templateCode")
    assert "did you mean order_confirmation?" in said


async def test_another_language_is_refused_with_those_there_are(stage: Stage) -> None:
    payload = ORDER | {"language": {"code": "de"}}
    said = await refused(stage, "order_confirmation", payload, "unknown_template", "payloadJson.language")
    assert "it is in en" in said


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "components", "field", "said"),
    [
        ("order_confirmation", body(text("Ada")), "components[0].parameters", "2 parameters expected, 1 given: {{2}}"),
        ("order_confirmation", body(*[text("x")] * 3), "components[0].parameters", "2 parameters expected, 3 given"),
        ("order_confirmation", None, "components", "2 parameters expected, 0 given"),
        ("hello_world", body(text("x")), "components[0].parameters", "0 parameters expected, 1 given"),
        (
            "order_confirmation",
            body(text("a", "name"), text("b", "order")),
            "components[0].parameters[0].parameter_name",
            "counts its parameters",
        ),
        (
            "order_confirmation",
            body(text("a"), {"type": "image", "image": {"id": "1"}}),
            "components[0].parameters[1].type",
            "must be text, not 'image'",
        ),
    ],
)
async def test_wrong_parameters_are_named(stage: Stage, name: str, components: Any, field: str, said: str) -> None:
    payload: dict[str, Any] = {"language": "en" if name == "order_confirmation" else "en_US"}
    given = payload if components is None else payload | {"components": components}
    assert said in await refused(stage, name, given, "template_parameters", f"payloadJson.{field}")


async def test_named_parameters_go_by_their_names(stage: Stage) -> None:
    await create(stage, "named", {"type": "BODY", "text": "Hi {{name}}, {{order}} is here"}, parameter_format="NAMED")
    said = await refused(
        stage,
        "named",
        {"language": "en", "components": body(text("Ada"), text("7"))},
        "template_parameters",
        "payloadJson.components[0].parameters[0].parameter_name",
    )
    assert "names its parameters: name, order" in said
    filled = {"language": "en", "components": body(text("7", "order"), text("Ada", "name"))}
    posted = await stage.send(templateCode="named", payloadJson=filled)
    await stage.becomes(posted["id"], "DELIVERED")


@pytest.mark.parametrize(("status", "taken"), [("PENDING", False), ("REJECTED", False), ("PAUSED", True)])
@ON_SQLITE
async def test_what_cannot_be_sent_now_is_told_from_what_waits(stage: Stage, status: str, taken: bool) -> None:
    held = stage.sandbox.templates.of(stage.acme.number.waba_id)
    held[:] = [msgspec.structs.replace(each, status=status) for each in held]
    answer = await post(stage, "hello_world", {"language": "en_US"})
    assert answer.status == (201 if taken else 422)
    if not taken:
        assert status in answer.json["detail"]


# When lists are fetched


async def test_an_account_that_could_never_be_fetched_is_not_enforced(stage: Stage) -> None:
    stage.network.unreachable.add("sandbox.test")
    answer = await post(stage, "nobody_knows", {"language": "xx"})
    assert answer.status == 201
    listed = await stage.get(TEMPLATES)
    assert listed["content"] == []
    (account,) = listed["accounts"]
    assert (account["syncedAt"], account["error"]) == (None, "no connection could be made")
    preview = await stage.call("POST", f"{TEMPLATES}/hello_world/preview", {"language": "en_US"})
    assert (preview.status, preview.code) == (503, "templates_unavailable")


@ON_SQLITE
async def test_a_provider_that_is_back_is_asked_again_after_a_rest(stage: Stage) -> None:
    stage.network.unreachable.add("sandbox.test")
    assert (await post(stage, "nobody", {"language": "xx"})).status == 201
    stage.network.unreachable.clear()
    assert (await post(stage, "nobody", {"language": "xx"})).status == 201
    stage.manual.advance(seconds(31))
    assert (await post(stage, "nobody", {"language": "xx"})).code == "unknown_template"


@ON_SQLITE
async def test_a_list_outlives_the_provider(stage: Stage) -> None:
    await stage.get(TEMPLATES)
    stage.network.unreachable.add("sandbox.test")
    stage.manual.advance(LATER)
    await refused(stage, "nobody", {"language": "en"}, "unknown_template", "templateCode")
    (account,) = (await stage.call("POST", f"{TEMPLATES}/sync")).json
    assert (account["templates"], account["error"]) == (2, "no connection could be made")
    assert account["syncedAt"] is not None


async def test_a_template_made_since_is_found_before_a_message_is_refused(stage: Stage) -> None:
    await refused(stage, "fresh", {"language": "en"}, "unknown_template", "templateCode")
    await create(stage, "fresh", {"type": "BODY", "text": "Hi"})
    await refused(stage, "fresh", {"language": "en"}, "unknown_template", "templateCode")
    stage.manual.advance(LATER)
    assert (await post(stage, "fresh", {"language": "en"})).status == 201


async def test_a_sync_on_demand_is_seen_at_once_and_by_other_processes(stage: Stage) -> None:
    other = await stage.add_server()
    stage.network.hosts["other.test"] = other.app
    message = HELLO | {"templateCode": "fresh", "payloadJson": {"language": "en"}}
    assert (await stage.call("POST", MESSAGES, message, host="other.test")).code == "unknown_template"
    await create(stage, "fresh", {"type": "BODY", "text": "Hi"})
    (account,) = (await stage.call("POST", f"{TEMPLATES}/sync")).json
    assert (account["templates"], account["error"]) == (3, None)
    assert (await stage.call("POST", MESSAGES, message)).status == 201
    stage.manual.advance(seconds(3))
    assert (await stage.call("POST", MESSAGES, message, host="other.test")).status == 201


@ON_SQLITE
async def test_an_old_list_is_refreshed_by_itself_and_one_that_nobody_needed_is_not(stage: Stage) -> None:
    assert await flow.refresh(stage.world) == 0
    await stage.get(TEMPLATES)
    await create(stage, "fresh", {"type": "BODY", "text": "Hi"})
    assert await flow.refresh(stage.world) == 0
    stage.manual.jump(hours(1.1))
    assert await flow.refresh(stage.world) == 1
    names = [each["name"] for each in (await stage.get(TEMPLATES))["content"]]
    assert names == ["fresh", "hello_world", "order_confirmation"]


@ON_SQLITE
async def test_a_status_that_is_told_counts_from_then_on(stage: Stage) -> None:
    await stage.get(TEMPLATES)
    now = int(as_seconds(stage.clock.now()))

    async def status_after(event: str, time: int) -> str:
        value = {"event": event, "message_template_name": "hello_world", "message_template_language": "en-US"}
        change = {"field": "message_template_status_update", "value": value}
        body = {"entry": [{"id": stage.acme.number.waba_id, "time": time, "changes": [change]}]}
        assert (await stage.post(body)).status == 200
        return str((await stage.get(TEMPLATES))["content"][0]["status"])

    assert await status_after("DISABLED", now - 60) == "APPROVED"
    assert await status_after("PAUSED", 10**17) == "PAUSED"
    assert await status_after("DISABLED", now) == "DISABLED"
    assert await status_after("PAUSED", 10**17) == "DISABLED"
    assert await status_after("PAUSED", now - 1) == "DISABLED"
    said = await refused(stage, "hello_world", {"language": "en_US"}, "unknown_template", "templateCode")
    assert "DISABLED" in said
    assert (await stage.get(TEMPLATES, stage.globex.key))["content"][0]["status"] == "APPROVED"


@ON_SQLITE
async def test_many_messages_at_once_ask_the_provider_once(stage: Stage) -> None:
    asked: list[str] = []
    sandbox = stage.network.hosts["sandbox.test"]

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await sandbox(scope, receive, send)

    stage.network.hosts["sandbox.test"] = counting
    answers = await asyncio.gather(*(post(stage, "nobody", {"language": "en"}) for _ in range(20)))
    assert {answer.code for answer in answers} == {"unknown_template"}
    assert len([path for path in asked if path.endswith("message_templates")]) == 1


# The routes


async def test_templates_are_listed_with_what_a_sender_needs(stage: Stage) -> None:
    await create(
        stage,
        "all_kinds",
        {"type": "HEADER", "format": "IMAGE"},
        {"type": "BODY", "text": "Hi {{1}}"},
        {"type": "BUTTONS", "buttons": [{"type": "URL", "text": "Go", "url": "https://example.org/{{1}}"}]},
    )
    listed = await stage.get(TEMPLATES)
    found = {each["name"]: each for each in listed["content"]}
    assert set(found) == {"all_kinds", "hello_world", "order_confirmation"}
    order = found["order_confirmation"]
    assert (order["status"], order["language"], order["category"]) == ("APPROVED", "en", "UTILITY")
    assert order["wabaId"] == stage.acme.number.waba_id
    assert [(each["component"], each["name"]) for each in order["parameters"]] == [("body", "1"), ("body", "2")]
    kinds = [(each["component"], each["kind"], each["index"]) for each in found["all_kinds"]["parameters"]]
    assert kinds == [("header", "image", None), ("body", "text", None), ("button", "text", 0)]
    assert [(each["templates"], each["error"]) for each in listed["accounts"]] == [(3, None)]


async def test_a_preview_is_what_the_customer_reads(stage: Stage) -> None:
    answer = await stage.call("POST", f"{TEMPLATES}/order_confirmation/preview", ORDER)
    assert answer.status == 200, answer
    assert answer.json["body"] == answer.json["text"] == "Hello Ada, your order 7 is confirmed."
    hello = (await stage.call("POST", f"{TEMPLATES}/hello_world/preview", {"language": "en_US"})).json
    assert hello["header"] == "Hello World"
    assert hello["footer"] == "WhatsApp Business Platform sample message"
    assert hello["text"].startswith("Hello World\nWelcome")
    posted = await stage.send(templateCode="order_confirmation", payloadJson=ORDER)
    await stage.becomes(posted["id"], "DELIVERED")
    screen = await stage.network.request(
        "GET", f"{SANDBOX}/_sandbox/phones/{HELLO['to']}/screen", headers={}, timeout=5
    )
    assert msgspec.json.decode(screen.body)["messages"][-1]["text"] == answer.json["text"]


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "asked", "status", "code", "field"),
    [
        ("nobody", {"language": "en"}, 404, "unknown_template", "name"),
        ("hello_world", {"language": "de"}, 422, "unknown_template", "language"),
        ("order_confirmation", {"language": "en"}, 422, "template_parameters", "components"),
        ("hello_world", {"language": "en_US", "from": "9"}, 404, "unknown_number", "from"),
        ("hello_world", {}, 422, "invalid_payload", "language"),
        ("hello_world", {"language": "en_US", "components": {}}, 422, "invalid_payload", "components"),
    ],
)
async def test_a_preview_is_refused_as_a_message_would_be(
    stage: Stage, name: str, asked: dict[str, Any], status: int, code: str, field: str
) -> None:
    answer = await stage.call("POST", f"{TEMPLATES}/{name}/preview", asked)
    assert (answer.status, answer.code, answer.json["field"]) == (status, code, field), answer


@ON_SQLITE
async def test_each_role_may_do_its_part(stage: Stage) -> None:
    made = await stage.call("POST", "/api/v1/keys", {"role": "readonly"})
    key = made.json["key"]
    assert (await stage.call("GET", TEMPLATES, key=key)).status == 200
    assert (await stage.call("POST", f"{TEMPLATES}/sync", key=key)).status == 403
    assert (await stage.call("GET", TEMPLATES, key="")).status == 401


@ON_SQLITE
async def test_each_number_s_messages_go_by_its_own_account(stage: Stage) -> None:
    second = a_number("1002")
    stage.sandbox.numbers.add(second)
    connected = {name: getattr(second, name) for name in stage.acme.as_connected}
    assert (await stage.call("POST", "/api/v1/numbers", connected)).status == 201
    await create(stage, "only_here", {"type": "BODY", "text": "Hi"})
    message = HELLO | {"templateCode": "only_here", "payloadJson": {"language": "en"}}
    assert (await stage.call("POST", MESSAGES, message | {"from": "1002"})).code == "unknown_template"
    assert (await stage.call("POST", MESSAGES, message | {"from": "1001"})).status == 201
    assert len((await stage.get(TEMPLATES))["accounts"]) == 2


# The provider's pages


class Pages:
    """A provider with scripted answers."""

    def __init__(self, *replies: Any, status: int = 200) -> None:
        self.replies = list(replies)
        self.status = status
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
        limit: int | None = None,
    ) -> HttpReply:
        parts = urlsplit(url)
        assert (method, headers["authorization"]) == ("GET", f"Bearer {TOKEN}")
        self.asked.append((f"{parts.scheme}://{parts.netloc}{parts.path}", parse_qs(parts.query)))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return HttpReply(self.status, {}, reply if isinstance(reply, bytes) else msgspec.json.encode(reply))

    async def fetched(self, waba_id: str = "7") -> Any:
        account = TemplateAccount(waba_id=waba_id, token=TOKEN, graph_url="https://graph.test/v25.0")
        return await CloudTemplates(self).fetch(account, 5)


def page(*names: str, after: str | None = None, **paging: Any) -> dict[str, Any]:
    data = [{"name": name, "language": "en", "status": "APPROVED", "components": []} for name in names]
    cursors = {"cursors": {"after": after}} if after else {}
    return {"data": data, "paging": {**cursors, **paging}}


async def test_all_pages_are_read_and_the_token_goes_to_our_host_only() -> None:
    evil = "https://evil.test/v25.0/7/message_templates?access_token=x&after=C2"
    pages = Pages(page("a", after="C1", next="https://evil.test/?after=Z"), page("b", next=evil), page("c", after="C3"))
    assert [each.name for each in await pages.fetched("7/..?x")] == ["a", "b", "c"]
    assert {url for url, _ in pages.asked} == {"https://graph.test/v25.0/7%2F..%3Fx/message_templates"}
    assert [query.get("after") for _, query in pages.asked] == [None, ["C1"], ["C2"]]


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        (Pages(page("a", after="C", next="n")), "loop"),
        (Pages(page("a", next="https://[")), "loop"),
        (Pages(*(page("a", after=f"{n}", next="n") for n in range(MOST_PAGES + 5))), "more than 100 pages"),
        (Pages(page("a", after="C", next="n"), ConnectionCut("the connection broke")), "the connection broke"),
        (Pages(b"<html>"), "cannot be read"),
        (Pages({"data": {}}), "cannot be read"),
        (Pages({"error": {"code": 190, "message": f"bad {TOKEN}"}}, status=401), "answered 190 bad [token]"),
        (Pages(b"\xff", status=502), "answered HTTP 502"),
    ],
)
async def test_a_list_that_is_not_whole_is_no_list(pages: Pages, reason: str) -> None:
    fetched = await pages.fetched()
    assert isinstance(fetched, NotFetched)
    assert reason in fetched.reason
    assert TOKEN not in fetched.reason


async def test_one_that_cannot_be_read_does_not_cost_the_others() -> None:
    listed = {"data": [{"name": "a"}, 7, *page("b")["data"]]}
    assert [each.name for each in await Pages(listed).fetched()] == ["b"]
    bare = {**listed, "paging": {"cursors": {"before": "x", "after": None}, "next": None}}
    assert [each.name for each in await Pages(bare).fetched()] == ["b"]
