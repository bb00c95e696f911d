"""`waypost turns` and `waypost admin …` of conversations: what an operator types, sees and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.acceptance.cli.test_admin import options, refused
from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import NUMBER, ORG, Site
from waypost.adapters.local.clock import SystemClock
from waypost.model.conversation import TurnClaim, TurnTiming
from waypost.model.ids import NumberId, OrgId, WorkerId
from waypost.model.message import Channel, Draft
from waypost.model.time import seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.conversations.turn_queue import TurnAnswer, TurnDemand
from waypost.ports.ledger import Ledger
from waypost.rules.conversations.reply_keys import key
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.wiring import open_ledger
from waypost_testing.contracts.examples import an_inbound

PHONE = "+16505551234"
EAGER = TurnTiming(quiet=seconds(0), lease=seconds(600))
CLOCK = SystemClock()


def on(here: Site, use: Callable[[Ledger], Awaitable[Any]]) -> Any:
    """As a worker would, without one."""

    async def used() -> Any:
        ledger = await open_ledger(Settings(database_url=here.database_url), CLOCK)
        try:
            return await use(ledger)
        finally:
            await ledger.close()

    return asyncio.run(used())


async def wrote(ledger: Ledger, text: str) -> None:
    now = CLOCK.now()
    arrival = an_inbound(PHONE, now, NumberId(NUMBER), org_id=OrgId(ORG), name="Ada", times=EAGER, text=text)
    await ledger.journal.apply_webhook(WebhookBatch([], [], [arrival]), now)


async def claimed(ledger: Ledger) -> TurnClaim:
    (claim,) = await ledger.turn_queue.claim(TurnDemand(WorkerId("w1"), 1), lambda _: EAGER, CLOCK.now())
    return claim


async def wrote_and_claimed(ledger: Ledger) -> TurnClaim:
    await wrote(ledger, "hello")
    return await claimed(ledger)


async def given_up(ledger: Ledger) -> None:
    claim = await wrote_and_claimed(ledger)
    await ledger.turn_queue.fail(claim, "the model is away", EAGER, CLOCK.now(), hopeless=True)


@pytest.fixture
def connected(here: Site) -> Site:
    assert here.run("migrate").code == 0
    assert here.run("admin", "create-org", ORG).code == 0
    assert here.run("admin", "connect-whatsapp", ORG, *options(phone_number_id=NUMBER)).code == 0
    return here


def test_who_is_answered_and_who_waits(connected: Site) -> None:
    assert connected.run("turns").out == "none\n"
    on(connected, lambda ledger: wrote(ledger, "one"))
    (waiting,) = connected.run("turns", ORG, "--json").fields
    assert (waiting["contact"], waiting["state"], waiting["waiting"]) == (f"Ada {PHONE}", "due", "1")
    on(connected, claimed)
    (held,) = connected.run("turns", "--json").fields
    assert (held["org_id"], held["state"], held["owner"], held["floor"]) == (ORG, "answering", "w1", "bot")
    shown = connected.run("turns", ORG).out
    assert all(word in shown for word in (f"Ada {PHONE}", "answering", "w1"))
    refused(connected.run("turns", "nobody"), "there is no org nobody")


@ON_SQLITE
def test_the_floor_is_given_and_conversations_are_read(connected: Site) -> None:
    on(connected, wrote_and_claimed)
    admin = connected.run
    (talk,) = admin("admin", "conversations", ORG, "+1 650 555 1234", "--json").fields
    where = talk["conversation_id"]
    assert (talk["contact"], talk["floor"], talk["messages"]) == (f"Ada {PHONE}", "bot", "1")
    given = admin("admin", "floor", ORG, where, "--to", "human")
    assert (given.code, given.out) == (0, f"conversation {where}: the floor is human\n")
    assert admin("turns", ORG, "--json").fields == []
    assert admin("admin", "floor", ORG, where, "--to", "bot").out.endswith("the floor is bot\n")
    assert len(admin("turns", ORG, "--json").fields) == 1
    (said,) = admin("admin", "messages", ORG, where, "--json").fields
    assert (said["position"], said["sender_id"][:8], said["said"]) == ("1", "contact:", "hello")
    refused(admin("admin", "floor", ORG, "999", "--to", "bot"), f"org {ORG} has no conversation 999")
    refused(admin("admin", "messages", ORG, "999"), f"org {ORG} has no conversation 999")
    refused(admin("admin", "conversations", ORG, "abc"), "must be a phone number")


def test_a_turn_that_was_given_up_is_listed_and_replayed(connected: Site) -> None:
    on(connected, given_up)
    admin = connected.run
    assert admin("turns", "--json").fields == []
    (dead,) = admin("turns", "--failed", "--json").fields
    assert (dead["contact"], dead["error"], dead["attempts"]) == (f"Ada {PHONE}", "the model is away", "1")
    turn = (dead["conversation_id"], dead["position"])
    assert admin("admin", "replay-turn", ORG, *turn).out == f"conversation {turn[0]}: the bot answers it now\n"
    assert admin("turns", "--failed", "--json").fields == []
    assert len(admin("turns", "--json").fields) == 1
    refused(admin("admin", "replay-turn", ORG, *turn), "the burst was answered, is waiting for its answer")
    refused(admin("admin", "replay-turn", ORG, turn[0], "99"), "`waypost turns acme --failed` lists")


async def answered(ledger: Ledger) -> int:
    claim = await wrote_and_claimed(ledger)
    draft = Draft(
        org_id=OrgId(ORG),
        sender=NumberId(NUMBER),
        channel=Channel.WHATSAPP,
        recipient=PHONE,
        template=None,
        subject=None,
        payload='{"text": "hi"}',
        dossier_id=None,
        idempotency_key=key(claim.turn_id, 1),
        digest=b"x",
        priority=7,
        scheduled_at=None,
        expires_at=None,
        ordered=True,
        max_attempts=1,
        created_by="bot",
        conversation_id=claim.conversation.id,
    )
    done = await ledger.turn_queue.commit(claim, TurnAnswer(drafts=(draft,)), CLOCK.now())
    return int(done.replies[0])  # type: ignore[union-attr]  # it is ours


@ON_SQLITE
def test_why_of_a_reply_names_the_turn_that_it_answers(connected: Site) -> None:
    reply = on(connected, answered)
    told = connected.run("why", str(reply))
    assert told.code == 0
    first, *life = told.out.splitlines()
    assert ". It answers turn " in first
    (turn,) = [line for line in life if " turn " in line]
    assert "a burst of 1 message, attempt 1; answered after" in turn
