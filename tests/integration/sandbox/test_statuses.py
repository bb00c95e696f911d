from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
import pytest

from tests.integration.sandbox.conftest import NUMBER, PHONE, START, Rig
from tests.integration.sandbox.test_messages import HELLO_WORLD, order_confirmation
from waypost.model.time import hours, seconds
from waypost.ports.platform.http_transport import ConnectFailed, ReplyTimedOut

pytestmark = pytest.mark.anyio


async def test_sent_then_delivered_are_posted(rig: Rig) -> None:
    wamid = (await rig.send(biz_opaque_callback_data="mine")).json["messages"][0]["id"]
    assert (await rig.screen())[0]["status"] == "accepted"
    await rig.sandbox.settled()
    sent, delivered = rig.receiver.posts
    assert [sent.at - START, delivered.at - START] == [20_000, 50_000]
    assert [sent.status["status"], delivered.status["status"]] == ["sent", "delivered"]
    for post in (sent, delivered):
        assert post.url == NUMBER.webhook_url
        assert post.status["id"] == wamid
        assert post.status["timestamp"] == "1760000000"
        assert post.status["recipient_id"] == PHONE
        assert post.status["biz_opaque_callback_data"] == "mine"
        assert post.value["contacts"][0]["wa_id"] == PHONE
        assert post.value["metadata"]["phone_number_id"] == NUMBER.phone_number_id
    envelope = msgspec.json.decode(sent.body)
    assert (envelope["object"], envelope["entry"][0]["id"]) == ("whatsapp_business_account", NUMBER.waba_id)
    assert envelope["entry"][0]["changes"][0]["field"] == "messages"
    assert (await rig.screen())[0]["status"] == "delivered"


async def test_webhooks_are_signed_over_the_bytes_as_escaped(rig: Rig) -> None:
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "Grüße 😀 a/b", "name": "Änne"})
    (post,) = rig.receiver.posts
    digest = hmac.new(NUMBER.app_secret.encode(), post.body, hashlib.sha256).hexdigest()
    assert post.headers["x-hub-signature-256"] == f"sha256={digest}"
    assert b"Gr\\u00fc\\u00dfe \\ud83d\\ude00 a\\/b" in post.body
    assert post.body.isascii()
    assert post.value["messages"][0]["text"]["body"] == "Grüße 😀 a/b"


@pytest.mark.parametrize(
    ("message", "written_before", "pricing"),
    [
        (None, True, {"billable": False, "type": "free_customer_service", "category": "service"}),
        (HELLO_WORLD, False, {"billable": True, "type": "regular", "category": "utility"}),
        (HELLO_WORLD, True, {"billable": False, "type": "free_customer_service", "category": "utility"}),
    ],
)
async def test_the_price_follows_category_and_window(
    rig: Rig, message: dict[str, Any] | None, written_before: bool, pricing: dict[str, Any]
) -> None:
    if written_before:
        await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi"})
    await rig.send(message)
    await rig.sandbox.settled()
    assert rig.receiver.posts[-1].status["pricing"] == {"pricing_model": "PMP", **pricing}


async def test_a_reaction_gets_no_more_than_sent(rig: Rig) -> None:
    await rig.send({"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "x"}})
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent"]


@pytest.mark.parametrize("answer", [500, 201, 404, ConnectFailed("no"), ReplyTimedOut("slow")])
async def test_a_webhook_is_tried_again_until_it_is_answered_200(rig: Rig, answer: Any) -> None:
    rig.receiver.answers = [answer] * 6
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi"})
    assert len(rig.receiver.posts) == 1
    await rig.sandbox.settled()
    pauses = [later.at - sooner.at for sooner, later in zip(rig.receiver.posts, rig.receiver.posts[1:], strict=False)]
    assert pauses == [seconds(s) for s in (0.5, 1, 2, 4, 5, 5)]
    assert len(dict.fromkeys(post.body for post in rig.receiver.posts)) == 1


async def test_after_ten_minutes_a_webhook_is_given_up(rig: Rig) -> None:
    rig.receiver.answers = [500] * 1000
    await rig.control("POST", f"phones/{PHONE}/say", {"text": "hi"})
    await rig.sandbox.settled()
    assert rig.receiver.posts[-1].at - START == seconds(597.5)


async def test_statuses_of_one_message_keep_their_order_while_the_receiver_fails(rig: Rig) -> None:
    rig.receiver.answers = [500, 500, 500]
    await rig.send()
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent", "sent", "sent", "sent", "delivered"]


async def test_messages_do_not_wait_for_each_other(rig: Rig) -> None:
    rig.receiver.answers = [500]
    slow = (await rig.send()).json["messages"][0]["id"]
    quick = (await rig.send()).json["messages"][0]["id"]
    await rig.sandbox.settled()
    order = [(post.status["id"], post.status["status"]) for post in rig.receiver.posts]
    assert order.index((quick, "delivered")) < order.index((slow, "delivered"))


async def test_reading_posts_read_once_for_everything_delivered(rig: Rig) -> None:
    first, second = [(await rig.send()).json["messages"][0]["id"] for _ in range(2)]
    await rig.sandbox.settled()
    heard = await rig.control("POST", f"phones/+{PHONE}/read")
    assert heard.json == {"read": 2}
    reads = [post.status for post in rig.receiver.posts if post.status["status"] == "read"]
    assert [told["id"] for told in reads] == [first, second]
    assert "pricing" not in reads[0]
    assert [message["status"] for message in await rig.screen()] == ["read", "read"]
    assert (await rig.control("POST", f"phones/{PHONE}/read")).json == {"read": 0}


async def test_without_a_webhook_address_the_screen_still_moves(rig: Rig) -> None:
    silent = {"phone_number_id": "3", "waba_id": "4", "token": "t", "app_secret": "s"}
    assert (await rig.control("POST", "numbers", silent)).status == 201
    body = {"messaging_product": "whatsapp", "to": PHONE, "text": {"body": "hi"}}
    assert (await rig.call("POST", "/3/messages", body, token="t")).status == 200
    await rig.sandbox.settled()
    assert (await rig.screen())[0]["status"] == "delivered"
    assert rig.receiver.posts == []


async def test_the_window_is_enforced_only_when_asked(rig: Rig) -> None:
    strict = Rig(enforce_window=True)
    await strict.send()
    await strict.send(order_confirmation("Ann", "A1"))
    await strict.sandbox.settled()
    failed = [post for post in strict.receiver.posts if post.status["status"] == "failed"]
    assert [post.status["errors"][0]["code"] for post in failed] == [131047]
    assert "contacts" not in failed[0].value
    await strict.control("POST", f"phones/{PHONE}/say", {"text": "hi"})
    await strict.send()
    await strict.sandbox.settled()
    assert strict.receiver.statuses()[-2:] == ["sent", "delivered"]
    await strict.clock.sleep(hours(24))
    await strict.send()
    await strict.sandbox.settled()
    assert strict.receiver.statuses()[-1] == "failed"
    await rig.send()
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent", "delivered"]


async def test_closing_stops_what_is_under_way(rig: Rig) -> None:
    await rig.send()
    await rig.sandbox.close()
    await rig.sandbox.settled()
    assert rig.receiver.posts == []


async def test_the_same_calls_make_the_same_webhooks_at_the_same_times() -> None:
    async def posted_webhooks() -> list[Any]:
        one = Rig()
        one.receiver.answers = [500, 200, 503]
        await one.control("POST", f"phones/{PHONE}/say", {"text": "hi"})
        for phone in ("16505550001", "16505550002"):
            await one.fault(to=phone, duplicate_statuses=1, times=1)
            await one.send(to=phone)
        await one.sandbox.settled()
        return [(post.at, post.body) for post in one.receiver.posts]

    assert await posted_webhooks() == await posted_webhooks()
