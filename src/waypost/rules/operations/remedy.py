"""What an operator can do about a hold: one line for each code."""

from __future__ import annotations

from waypost.model.gate import GateName
from waypost.model.ids import OrgId, is_mailbox
from waypost.rules.limits.gates import NUMBER_DISABLED

BUDGET_REACHED = "BUDGET_REACHED"

_CHANGE = "PATCH /api/v1/numbers/{of}, or `waypost admin change-number {org} {of} --token TOKEN`"
_MAILBOX = "PATCH /api/v1/mailboxes/{of}, or `waypost admin change-mailbox {org} {of}"
_RELEASE = "then `waypost admin release {org} GATE`, as `waypost admin gates {org}` lists it"

_TOKEN = f"connect the number with a new token: {_CHANGE}"
_PERMISSION = f"grant the app its permissions at Meta, then give the number a token that has them: {_CHANGE}"
_APPEAL = f"appeal in Meta's Business Support, {_RELEASE}"
_PAYMENT = f"fix the account's payment method at Meta, {_RELEASE}"
_REGISTER = f"register the number again at Meta, {_RELEASE}"
_LOGIN = f"give the mailbox its right user name and password: {_MAILBOX} --username NAME --password …`"
_ENCRYPT = f"turn on encryption for the mailbox: {_MAILBOX} --security starttls` (or tls)"

_REMEDIES = {
    **dict.fromkeys(("0", "190"), _TOKEN),
    **dict.fromkeys(("3", "10", "200-299", "131005"), _PERMISSION),
    **dict.fromkeys(("368", "131031"), _APPEAL),
    "131037": f"have the number's display name approved in WhatsApp Manager, {_RELEASE}",
    **dict.fromkeys(("131042", "131044"), _PAYMENT),
    **dict.fromkeys(("131045", "133010"), _REGISTER),
    "132015": f"wait until Meta approves the template again, or fix it there, {_RELEASE}",
    **dict.fromkeys(("5.7.8", "5.7.9", "5.7.12", "534", "535"), _LOGIN),
    **dict.fromkeys(("5.7.10", "530", "538"), _ENCRYPT),
    "5.7.13": f"have the user enabled at the mail server, {_RELEASE}",
    "BAD_MAILBOX": f"fix the mailbox: {_MAILBOX} --help`",
    BUDGET_REACHED: "raise the budget: PATCH /api/v1/policy, or `waypost admin policy {org} --set budget.amount=N`",
}
_UNKNOWN = f"remove the cause, {_RELEASE}"
_PERMISSIONS = range(200, 300)


def remedy(code: str, gate: GateName | None, org: OrgId) -> str:
    """One line; commands name the number of the gate."""
    scope, _, name = (gate or "").partition(":")
    of = name if scope == "number" else "NUMBER"
    return _line(code, of).format(org=org, of=of)


def _line(code: str, of: str) -> str:
    if code == NUMBER_DISABLED:
        return f"enable it: {_MAILBOX} --enable`" if is_mailbox(of) else "enable it: `waypost admin enable {org} {of}`"
    if code.isascii() and code.isdecimal() and len(code) == 3 and int(code) in _PERMISSIONS:
        return _PERMISSION
    return _REMEDIES.get(code, _UNKNOWN)


def is_known(code: str) -> bool:
    return code in _REMEDIES
