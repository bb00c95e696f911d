"""Statuses of a number that its org has disconnected: its messages still reach their last status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.integration.stage.harness import Answer, Stage
from tests.integration.stage.webhooks import Account, a_number, a_text, change, envelope, status
from waypost.flow.receiving.receive_webhook import MOST_FORMER
from waypost.model.audit import RecordedEntry
from waypost.model.ids import OrgId
from waypost.ports.operations.audit import AuditQuery


async def connect(stage: Stage, account: Account, number: str, **same: Any) -> None:
    """Another number of the org, by default in the same business account and with the same app."""
    known = {"waba_id": account.number.waba_id, "app_secret": account.number.app_secret, **same}
    other = Account(account.org, account.key, a_number(number, **known))
    assert (await stage.call("POST", "/api/v1/numbers", other.as_connected, key=account.key)).status == 201


async def disconnect(stage: Stage) -> None:
    assert (await stage.call("DELETE", "/api/v1/numbers/1001")).status == 204


async def post_status(stage: Stage, wamid: str, signer: Account | None = None, **value: Any) -> Answer:
    """A delivery to the customer, from acme's first number; with other items in the same place."""
    item = change(stage.acme, statuses=[status(wamid, "delivered")], **value)
    return await stage.post(envelope((stage.acme, [item])), signer)


async def test_a_status_of_a_disconnected_number_reaches_its_message(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    await connect(stage, stage.acme, "1002")
    await disconnect(stage)
    assert (await post_status(stage, wamid, messages=[a_text("wamid.in")])).status == 200
    await stage.becomes(message_id, "DELIVERED")
    assert await stage.customer_messages() == []
    assert await stage.journal() == []


async def test_nobody_else_can_sign_for_it(stage: Stage) -> None:
    message_id, wamid = await stage.sent_silently()
    await connect(stage, stage.globex, "2002", waba_id=stage.acme.number.waba_id)
    await disconnect(stage)
    for signer in (stage.acme, stage.globex):
        answer = await post_status(stage, wamid, signer)
        assert (answer.status, answer.code) == (404, "unknown_number")
    assert (await stage.message(message_id))["status"] == "SENT"


@pytest.mark.parametrize("same", [{"app_secret": "another"}, {"waba_id": "another"}], ids=["secret", "account"])
async def test_a_number_of_another_app_or_account_does_not_prove_it(stage: Stage, same: dict[str, str]) -> None:
    message_id, wamid = await stage.sent_silently()
    await connect(stage, stage.acme, "1002", **same)
    await disconnect(stage)
    assert (await post_status(stage, wamid)).status == 404
    assert (await stage.message(message_id))["status"] == "SENT"


async def test_a_message_to_a_disconnected_number_is_refused(stage: Stage) -> None:
    await connect(stage, stage.acme, "1002")
    await disconnect(stage)
    answer = await stage.post(envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.in")])])))
    assert (answer.status, answer.code) == (404, "unknown_number")


async def test_a_number_that_cannot_be_stored_does_not_stop_its_neighbours(stage: Stage) -> None:
    """PostgreSQL has no NUL. Anyone can sign such a POST for a number of their own."""
    message_id, wamid = await stage.sent_silently()
    stranger = Account("acme", "", a_number("\0", waba_id=stage.acme.number.waba_id))
    items = [change(account, statuses=[status(wamid, "delivered")]) for account in (stranger, stage.acme)]
    assert (await stage.post(envelope((stage.acme, items)))).status == 200
    await stage.becomes(message_id, "DELIVERED")
    assert stage.world.refusals.count == 0


async def test_the_audit_is_read_once_per_number_and_for_a_bounded_count(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A POST has up to 10,000 changes, and each could name another number."""
    message_id, wamid = await stage.sent_silently()
    await connect(stage, stage.acme, "1002")
    await disconnect(stage)
    asked: list[str | None] = []
    find = stage.world.ledger.audit.find

    async def counted(org: OrgId, query: AuditQuery, limit: int) -> Sequence[RecordedEntry]:
        asked.append(query.entity_id)
        return await find(org, query, limit)

    monkeypatch.setattr(stage.world.ledger.audit, "find", counted)
    strangers = [Account("acme", "", a_number(str(n), waba_id="")) for n in range(5000, 5300)]
    items = [change(account, statuses=[status(wamid, "delivered")]) for account in (stage.acme, stage.acme, *strangers)]
    assert (await stage.post(envelope((stage.acme, items)))).status == 200
    await stage.becomes(message_id, "DELIVERED")
    assert len(asked) == len(set(asked)) == MOST_FORMER


async def test_a_number_that_the_org_never_had_is_unknown(stage: Stage) -> None:
    stranger = Account("acme", "", a_number("9009", waba_id=stage.acme.number.waba_id))
    answer = await stage.post(envelope((stranger, [change(stranger, statuses=[status("wamid.x", "delivered")])])))
    assert (answer.status, answer.code) == (404, "unknown_number")
