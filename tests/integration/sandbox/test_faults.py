from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import pytest

from tests.integration.sandbox.conftest import NUMBER, PHONE, START, Rig
from tests.integration.sandbox.test_messages import HELLO_WORLD
from waypost.ports.platform.http_transport import ConnectionCut

pytestmark = pytest.mark.anyio

TABLE = list(csv.DictReader(files("waypost.sandbox.edge").joinpath("error_codes.csv").read_text().splitlines()))
CODES = [(int(row["code"].split("-")[-1]), row) for row in TABLE]


@pytest.mark.parametrize(("code", "row"), CODES, ids=[str(code) for code, _ in CODES])
async def test_a_magic_number_is_answered_with_its_code(rig: Rig, code: int, row: dict[str, str]) -> None:
    heard = await rig.send(to=f"+1555000{code:06d}")
    assert heard.status == int(row["http_status"] or 400)
    assert heard.error["code"] == code
    assert heard.error["message"] == f"(#{code}) {row['title'].strip('[]')}"
    assert (await rig.calls())[0]["wamid"] is None


async def test_an_ordinary_555_number_is_not_magic(rig: Rig) -> None:
    assert (await rig.send(to="+15550001904")).status == 200


async def test_a_magic_number_asks_even_with_a_bad_body(rig: Rig) -> None:
    assert (await rig.send({"type": "text"}, to="+1555000130429")).error["code"] == 130429


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ({"error_code": 131056}, 400, 131056),
        ({"error_code": 131016}, 500, 131016),
        ({"error_code": 230}, 403, 230),
        ({"error_code": 999999}, 400, 999999),
        ({"http_status": 503}, 503, 131000),
        ({"http_status": 429, "error_code": 130429}, 429, 130429),
        ({"retry_after": 7}, 400, 130429),
    ],
)
async def test_a_fault_refuses_with_a_graph_error(rig: Rig, fault: dict[str, Any], status: int, code: int) -> None:
    await rig.fault(**fault)
    heard = await rig.send()
    assert (heard.status, heard.error["code"]) == (status, code)
    assert await rig.screen() == []


@pytest.mark.parametrize("refusal", [{"error_code": 130429}, {"http_status": 503}, {"raw_status": 503}])
async def test_retry_after_goes_with_the_refusal(rig: Rig, refusal: dict[str, int]) -> None:
    await rig.fault(retry_after=2.5, **refusal)
    assert (await rig.send()).headers["retry-after"] == "2.5"


async def test_a_gateway_page_means_nothing_was_accepted(rig: Rig) -> None:
    await rig.fault(raw_status=502)
    heard = await rig.send()
    assert (heard.status, heard.headers["content-type"]) == (502, "text/html; charset=UTF-8")
    assert await rig.screen() == []
    assert (await rig.calls())[0]["wamid"] is None


async def test_a_gateway_page_may_hide_an_acceptance(rig: Rig) -> None:
    await rig.fault(accept_then_raw_status=504)
    heard = await rig.send()
    assert (heard.status, heard.body[:6]) == (504, b"<html>")
    await rig.sandbox.settled()
    assert (await rig.screen())[0]["status"] == "delivered"
    (call,) = await rig.calls()
    assert (call["http_status"], call["wamid"]) == (504, (await rig.screen())[0]["wamid"])


async def test_status_error_accepts_and_then_fails(rig: Rig) -> None:
    await rig.fault(status_error=131026)
    heard = await rig.send(biz_opaque_callback_data="mine")
    assert heard.status == 200
    await rig.sandbox.settled()
    (post,) = rig.receiver.posts
    assert post.status["status"] == "failed"
    assert post.status["biz_opaque_callback_data"] == "mine"
    (error,) = post.status["errors"]
    assert (error["code"], error["title"], error["message"]) == (
        131026,
        "Message undeliverable",
        "Message undeliverable",
    )
    assert error["error_data"]["details"]
    assert (await rig.screen())[0]["status"] == "failed"


async def test_delay_ms_delays_the_answer(rig: Rig) -> None:
    await rig.fault(delay_ms=1500)
    await rig.send()
    assert rig.clock.now() - START == 1_500_000


async def test_drop_response_accepts_and_cuts(rig: Rig) -> None:
    await rig.fault(drop_response=True)
    with pytest.raises(ConnectionCut):
        await rig.send()
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent", "delivered"]
    assert (await rig.calls())[0]["wamid"] == (await rig.screen())[0]["wamid"]


async def test_status_first_posts_sent_before_the_answer(rig: Rig) -> None:
    await rig.fault(status_first=True)
    heard = await rig.send()
    (post,) = rig.receiver.posts
    assert post.status["id"] == heard.json["messages"][0]["id"]
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent", "delivered"]


async def test_duplicate_statuses_posts_extra_copies(rig: Rig) -> None:
    await rig.fault(duplicate_statuses=2)
    await rig.send()
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent"] * 3 + ["delivered"] * 3


async def test_reorder_statuses_posts_delivered_first(rig: Rig) -> None:
    await rig.fault(reorder_statuses=True)
    await rig.send()
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["delivered", "sent"]
    assert (await rig.screen())[0]["status"] == "delivered"


async def test_statuses_never_posts_nothing(rig: Rig) -> None:
    await rig.fault(statuses="never")
    assert (await rig.send()).status == 200
    await rig.sandbox.settled()
    assert rig.receiver.posts == []
    assert (await rig.screen())[0]["status"] == "accepted"


async def test_echo_false_leaves_the_callback_data_out(rig: Rig) -> None:
    await rig.fault(echo=False)
    await rig.send(biz_opaque_callback_data="mine")
    await rig.sandbox.settled()
    assert all("biz_opaque_callback_data" not in post.status for post in rig.receiver.posts)


async def test_a_fault_is_for_its_recipient_and_type(rig: Rig) -> None:
    await rig.fault(to="+1 650 555 1234", type="template", error_code=132015)
    assert (await rig.send()).status == 200
    assert (await rig.send(HELLO_WORLD, to="16505550000")).status == 200
    assert (await rig.send(HELLO_WORLD)).error["code"] == 132015


async def test_a_fault_is_used_up(rig: Rig) -> None:
    await rig.fault(error_code=131000, times=2)
    assert [(await rig.send()).status for _ in range(3)] == [500, 500, 200]
    assert (await rig.control("GET", "faults")).json == {"faults": []}


async def test_faults_of_the_same_action_come_one_after_the_other(rig: Rig) -> None:
    await rig.fault(error_code=131000, times=1)
    await rig.fault(http_status=503, times=1)
    assert [(await rig.send()).status for _ in range(3)] == [500, 503, 200]


async def test_a_fault_keeps_its_time_while_another_does_the_same(rig: Rig) -> None:
    await rig.fault(delay_ms=100, times=1)
    await rig.fault(delay_ms=1000, times=1, statuses="never")
    await rig.send()
    assert rig.clock.now() - START == 100_000
    await rig.send()
    assert rig.clock.now() - START == 1_100_000


async def test_faults_of_different_actions_come_together(rig: Rig) -> None:
    await rig.fault(delay_ms=100)
    await rig.fault(duplicate_statuses=1, times=1)
    await rig.send()
    await rig.sandbox.settled()
    assert rig.receiver.statuses() == ["sent", "sent", "delivered", "delivered"]
    assert rig.clock.now() - START == 150_000


async def test_probability_throws_the_dice(rig: Rig) -> None:
    rig.dice.throws = [0.2, 0.3]
    await rig.fault(error_code=131000, probability=0.25)
    assert [(await rig.send()).status for _ in range(2)] == [500, 200]


async def test_receipts_are_spared_unless_named(rig: Rig) -> None:
    receipt = {"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.x"}
    await rig.fault(error_code=131000)
    path = f"/{NUMBER.phone_number_id}/messages"
    assert (await rig.call("POST", path, receipt)).status == 200
    await rig.fault(error_code=131016, type="read")
    assert (await rig.call("POST", path, receipt)).error["code"] == 131016
    typing = {**receipt, "typing_indicator": {"type": "text"}}
    assert (await rig.call("POST", path, typing)).status == 200


async def test_faults_are_listed_and_cleared(rig: Rig) -> None:
    made = await rig.control("POST", "faults", {"to": f"+{PHONE}", "error_code": 4, "times": 3})
    listed = (await rig.control("GET", "faults")).json["faults"]
    assert listed == [{"id": made.json["id"], "to": PHONE, "error_code": 4, "times": 3, "left": 3}]
    assert (await rig.control("DELETE", "faults")).status == 200
    assert (await rig.send()).status == 200


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ({"eror_code": 4}, "eror_code"),
        ({"to": PHONE}, "action"),
        ({"error_code": "4"}, "int"),
        ({"error_code": 4, "probability": 2}, "probability"),
        ({"error_code": 4, "times": 0}, "times"),
        ({"statuses": "sometimes"}, "sometimes"),
        ({"error_code": 4, "to": "Ann"}, "Ann"),
    ],
)
async def test_a_fault_that_makes_no_sense_is_explained(rig: Rig, fault: dict[str, Any], why: str) -> None:
    heard = await rig.control("POST", "faults", fault)
    assert heard.status == 400
    assert why in heard.json["error"]
