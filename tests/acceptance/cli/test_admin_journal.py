"""`waypost admin journal`: a person sees a table, a program the item whole."""

from __future__ import annotations

import msgspec

from tests.acceptance.cli.test_admin_turns import CLOCK, on
from tests.acceptance.conftest import ON_SQLITE
from tests.acceptance.stage.harness import NUMBER, ORG, Site
from waypost.model.ids import NumberId, OrgId
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost_testing.contracts.examples import an_item

BODY = msgspec.json.encode({"field": "account_alerts", "value": {"words": "x" * 20_000}}).decode()
KEY = "k" * 64


async def brought(ledger: Ledger) -> None:
    item = an_item(kind="account:account_alerts", key=KEY, org_id=OrgId(ORG), number=NumberId(NUMBER), body=BODY)
    await ledger.journal.apply_webhook(WebhookBatch([], [item]), CLOCK.now())


@ON_SQLITE
def test_json_has_the_item_whole(here: Site) -> None:
    assert here.run("admin", "create-org", ORG).code == 0
    on(here, brought)
    (item,) = here.run("admin", "journal", ORG, "--json").fields
    assert (item["kind"], item["key"], item["number"], item["body"]) == ("account:account_alerts", KEY, NUMBER, BODY)
    shown = here.run("admin", "journal", ORG).out
    assert KEY[:40] in shown
    assert KEY not in shown
    assert BODY not in shown
