"""What to do about a hold: a separate line for every code that causes one."""

from __future__ import annotations

import pytest

from waypost.model.ids import OrgId
from waypost.rules.limits.error_catalogue import ErrorAction, ErrorCatalogue
from waypost.rules.limits.gates import NUMBER_DISABLED, of_account, of_number, of_org
from waypost.rules.operations.remedy import BUDGET_REACHED, is_known, remedy
from waypost.runtime.wiring.wiring import catalogues

ORG = OrgId("acme")


@pytest.mark.parametrize("catalogue", catalogues().values(), ids=catalogues())
def test_every_hold_of_a_catalogue_has_a_remedy(catalogue: ErrorCatalogue) -> None:
    holds = [row.code for row in catalogue.rows() if row.action is ErrorAction.HOLD]
    assert [code for code in holds if not is_known(code)] == []


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        ("190", of_number("1"), "new token: PATCH /api/v1/numbers/1, or `waypost admin change-number acme 1 --token"),
        ("230", of_account("2"), "grant the app its permissions"),
        ("131042", of_account("2"), "payment method at Meta, then `waypost admin release acme GATE`"),
        ("535", of_number("mail_1"), "`waypost admin change-mailbox acme mail_1 --username NAME --password"),
        (BUDGET_REACHED, of_org(ORG), "raise the budget: PATCH /api/v1/policy"),
        (NUMBER_DISABLED, of_number("1"), "`waypost admin enable acme 1`"),
        (NUMBER_DISABLED, of_number("mail_1"), "`waypost admin change-mailbox acme mail_1 --enable`"),
        ("never heard of", None, "remove the cause, then `waypost admin release acme GATE`"),
    ],
)
def test_a_remedy_names_what_to_do_and_to_what(code: str, name: str | None, said: str) -> None:
    line = remedy(code, name, ORG)  # type: ignore[arg-type]  # a gate's name is a text
    assert said in line
    assert "\n" not in line
    assert "{" not in line
