"""No org sees, changes or infers anything of another's; no secret is read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.integration.accounts.test_secrets import make_secrets
from tests.integration.conversations.test_chat_authorisation import ONLY_FOR_PEOPLE
from tests.integration.stage.harness import HELLO, MESSAGES, ON_SQLITE, Stage
from tests.integration.stage.webhooks import a_text, change, envelope, status_post
from tests.integration.stage.webhooks import status as a_status
from waypost.http.app import api
from waypost.http.openapi import completed
from waypost.model.gate import GateClosing, GateKind, GateName
from waypost.model.ids import OrgId

DOCUMENT = completed(api().openapi_schema.to_schema())  # type: ignore[attr-defined]  # Litestar's own, behind ASGIApp
PUBLIC = {"/healthz", "/readyz", "/metrics", "/api/v1/webhooks/whatsapp/inbound", "/api/v1/session"}
ROUTES = sorted(
    (path, method)
    for path, item in DOCUMENT["paths"].items()
    for method in item
    if path not in PUBLIC and (method, path) not in ONLY_FOR_PEOPLE
)
"""For everything that an API key may do; what only users do is tested in test_chat_authorisation.py."""
BODIES: dict[tuple[str, str], Any] = {
    (MESSAGES, "post"): HELLO,
    ("/api/v1/numbers", "post"): {
        "phone_number_id": "7007", "waba_id": "w", "token": "t", "app_secret": "s", "verify_token": "v"
    },
    ("/api/v1/numbers/{phone_number_id}", "patch"): {"enabled": False, "app_secret": "stolen"},
    ("/api/v1/keys", "post"): {"role": "readonly"},
    ("/api/v1/keys/{key_id}/rotate", "post"): {},
    ("/api/v1/users", "post"): {"name": "Ada"},
    ("/api/v1/outbound/templates/{name}/preview", "post"): {"language": "en"},
    ("/api/v1/dossiers", "post"): {"phone": "+16505551234"},
    ("/api/v1/dossiers/{dossier_id}", "patch"): {"name": "stolen"},
    ("/api/v1/outbound/consents", "put"): {"dossierId": 1, "channel": "WHATSAPP", "status": "REVOKED"},
    ("/api/v1/mailboxes", "post"): {"address": "own@example.com", "host": "mail.invalid"},
    ("/api/v1/mailboxes/{mailbox_id}", "patch"): {"password": "stolen"},
    ("/api/v1/outbound/messages/batch", "post"): {"messages": [HELLO]},
    ("/api/v1/outbound/quota", "put"): {"quotaLimit": 7},
    ("/api/v1/outbound/dead-letters/replay", "post"): {"ids": [1]},
    ("/api/v1/outbound/read-receipts", "post"): {"messageId": "wamid.acmes", "from": "2001"},
    ("/api/v1/conversations/{conversation_id}/floor", "post"): {"holder": "bot"},
    ("/api/v1/conversations/{conversation_id}", "patch"): {"labels": ["stolen"]},
    ("/api/v1/conversations/{conversation_id}/members", "post"): {"remove": ["user_none"]},
    ("/api/v1/conversations/{conversation_id}/notes", "post"): {"text": "I was here"},
    ("/api/v1/messages", "post"): {
        "client_message_id": "1", "conversation_id": "1", "content": {"type": "text", "text": "hi"}
    },
    ("/api/v1/quick-replies/{name}", "put"): {"text": "ours"},
    ("/api/v1/policy", "put"): {"unsure": "park"},
    ("/api/v1/policy", "patch"): {"defaultRegion": "DE"},
}  # fmt: skip
ASKED = {
    "/api/v1/outbound/consents": "?dossierId={dossier_id}",
    "/api/v1/outbound/activities": "?dossierId={dossier_id}",
    "/api/v1/presence": "?user_id={user_id}",
    "/api/v1/messages": "",
}
"""What is named in the query; who writes names it in the body."""
NEEDED = {"/api/v1/conversations": "?phone=%2B16505551234", "/api/v1/search": "?q=hello"}
"""Queries that name nothing of any org."""
MAKES_ONES_OWN = {("/api/v1/quick-replies/{name}", "put")}
"""A name that another org has as well."""
TABLES = (
    "message",
    "delivery",
    "attempt",
    "report",
    "event",
    "journal",
    "provider_word",
    "number",
    "api_key",
    "person",
    "wamid",
    "dossier",
    "consent",
    "audit",
    "policy",
    "cost",
    "gate",
    "mailbox",
    "media",
    "conversation",
    "lane",
    "turn",
    "quick_reply",
)


@dataclass
class Possessions:
    """What acme has, by the names that paths give to it."""

    message_id: int
    phone_number_id: str
    key_id: str
    user_id: str
    wamid: str
    name: str
    """Of a template that only acme's account has, and of a quick reply."""
    dossier_id: int
    gate_id: int
    mailbox_id: str
    media_id: int
    item_id: int
    """Of the journal."""
    phone: str = "+16505551234"
    """A customer belongs to no org: each org sees only its own window."""
    conversation_id: str = "1"
    position: str = "1"


@pytest.fixture
async def acmes(stage: Stage) -> Possessions:
    await stage.fault(statuses="never")
    message = await stage.send(idempotencyKey="acmes-own-key", payloadJson={"text": "acmes own words"})
    sent = await stage.becomes(message["id"], "SENT")
    key = (await stage.call("POST", "/api/v1/keys", {"role": "sender", "label": "acmes label"})).json
    user = (await stage.call("POST", "/api/v1/users", {"name": "acmes person"})).json
    inbound = envelope((stage.acme, [change(stage.acme, messages=[a_text("wamid.acmes", "acmes customer")])]))
    assert (await stage.post(inbound)).status == 200
    words = {"name": "acmes_template", "language": "en", "category": "UTILITY"}
    body = {"type": "BODY", "text": "acmes own template"}
    stage.sandbox.templates.create(stage.acme.number.waba_id, words | {"components": [body]})
    dossier = (await stage.call("POST", "/api/v1/dossiers", {"phone": "+16505551234"})).json
    mailbox = (await stage.call("POST", "/api/v1/mailboxes", {"address": "acmes@x.org", "host": "mail.invalid"})).json
    assert (await stage.call("PUT", "/api/v1/quick-replies/acmes_template", {"text": "acmes answer"})).status == 200
    hold = GateClosing(
        org_id=OrgId("acme"), name=GateName("template:w/t"), kind=GateKind.HOLD, code="132015", reason="acmes"
    )
    gate = await stage.world.ledger.gates.close(hold, stage.clock.now())
    columns = "id, org_id, number, conversation_id, position, provider_id, mime_type, state, tries, created_at"
    values = "4711, 'acme', '1001', 1, 1, 'acmes media', 'image/png', 'failed', 1, 0"
    await stage.database.run(f"INSERT INTO media ({columns}) VALUES ({values})")
    update = {"field": "acmes_field", "value": {"acmes": "own"}}
    assert (await stage.post({"entry": [{"id": stage.acme.number.waba_id, "changes": [update]}]})).status == 200
    item = (await stage.journal())[-1]
    return Possessions(
        message["id"],
        "1001",
        key["key_id"],
        user["user_id"],
        sent["providerMessageId"],
        "acmes_template",
        dossier["id"],
        gate.id,
        mailbox["mailbox_id"],
        4711,
        item["id"],
    )


async def everything_of(stage: Stage, org: str) -> dict[str, list[tuple[Any, ...]]]:
    ids = f"SELECT id FROM message WHERE org_id = '{org}'"
    numbers = f"SELECT id FROM number WHERE org_id = '{org}'"
    whose = dict.fromkeys(TABLES, f"org_id = '{org}'")
    whose |= {"attempt": f"message_id IN ({ids})", "event": f"message_id IN ({ids})", "wamid": f"number IN ({numbers})"}
    return {
        table: sorted(await stage.database.run(f"SELECT * FROM {table} WHERE {where}"), key=repr)
        for table, where in whose.items()
    }


def filled(path: str, mine: Possessions) -> str:
    return (path + ASKED.get(path, NEEDED.get(path, ""))).format(**vars(mine))


def names_a_thing(path: str, method: str) -> bool:
    named = ("{" in path and "{phone}" not in path) or path in ASKED
    return named and (path, method) not in MAKES_ONES_OWN


# Every route with another org's ids


async def test_every_route_keeps_another_orgs_things_to_their_owner(stage: Stage, acmes: Possessions) -> None:
    before = await everything_of(stage, "acme")
    names = ("acmes", "1001", acmes.key_id, acmes.user_id, acmes.wamid, "acme")
    for path, method in ROUTES:
        body = BODIES.get((path, method))
        answer = await stage.call(method.upper(), filled(path, acmes), body, key=stage.globex.key)
        fine = (415,) if path.endswith("outbound/media") else (200, 201, 207)  # a file would be multipart
        assert answer.status in ((404,) if names_a_thing(path, method) else fine), (method, path, answer)
        shown = answer.body.decode().replace(filled(path, acmes), "")
        if (path, method) in MAKES_ONES_OWN:
            shown = shown.replace(acmes.name, "")
        if answer.status == 200:
            assert not [name for name in names if name in shown], (method, path, answer)
    assert await everything_of(stage, "acme") == before


async def test_an_unknown_thing_and_another_orgs_look_the_same(stage: Stage, acmes: Possessions) -> None:
    nobodys = Possessions(
        message_id=999_999,
        phone_number_id="9999",
        key_id="key_none",
        user_id="user_none",
        wamid="wamid.none",
        name="no_template",
        dossier_id=999_999,
        gate_id=999_999,
        mailbox_id="mail_none",
        media_id=999_999,
        item_id=999_999,
    )
    nobodys.conversation_id = "999999"
    for path, method in ROUTES:
        if "{" not in path:
            continue
        body = BODIES.get((path, method))
        theirs, none = [
            await stage.call(method.upper(), filled(path, things), body, key=stage.globex.key)
            for things in (acmes, nobodys)
        ]
        hidden = [
            answer.body.decode().replace(str(value), "X")
            for answer, things in ((theirs, acmes), (none, nobodys))
            for value in [next(v for k, v in vars(things).items() if f"{{{k}}}" in path)]
        ]
        assert (theirs.status, hidden[0]) == (none.status, hidden[1]), (method, path)


async def test_another_orgs_number_cannot_be_sent_from_or_taken(stage: Stage, acmes: Possessions) -> None:
    answer = await stage.call("POST", MESSAGES, HELLO | {"from": "1001"}, key=stage.globex.key)
    assert (answer.status, answer.code) == (404, "unknown_number")
    taken = BODIES["/api/v1/numbers", "post"] | {"phone_number_id": "1001"}
    answer = await stage.call("POST", "/api/v1/numbers", taken, key=stage.globex.key)
    assert (answer.status, answer.code) == (409, "already_connected")
    assert (await stage.post(status_post(stage.acme, a_status(acmes.wamid, "delivered")))).status == 200
    await stage.becomes(acmes.message_id, "DELIVERED")


async def test_another_orgs_idempotency_key_is_no_ones_business(stage: Stage, acmes: Possessions) -> None:
    answer = await stage.call("POST", MESSAGES, HELLO | {"idempotencyKey": "acmes-own-key"}, key=stage.globex.key)
    assert answer.status == 201
    assert answer.json["id"] != acmes.message_id


async def test_a_message_goes_out_with_its_own_orgs_token(stage: Stage) -> None:
    answer = await stage.call("POST", MESSAGES, HELLO, key=stage.globex.key)
    await stage.eventually(lambda: _accepted(stage))
    assert answer.json["from"] == "2001"
    (call,) = stage.sandbox.calls.listed()
    assert (call.phone_number_id, call.http_status) == ("2001", 200)


async def _accepted(stage: Stage) -> bool:
    return bool(stage.accepted())


# Roles


ROLES = ("admin", "sender", "readonly", "agent", "admin person")


OF_ANYBODY = (
    "/api/v1/outbound/",
    "/api/v1/dossiers",
    "/api/v1/media",
    "/api/v1/turns",
    "/api/v1/conversations",
    "/api/v1/messages",
    "/api/v1/presence",
    "/api/v1/search",
    "/api/v1/push-key",
    "/api/v1/overview",
    "/api/v1/team",
    "/api/v1/quick-replies",
)
OF_AN_ADMIN = ("/api/v1/outbound/quota", "/api/v1/outbound/gates/{gate_id}/release")


def allowed(path: str, method: str) -> set[str]:
    if not path.startswith(OF_ANYBODY) or (path in OF_AN_ADMIN and method != "get"):
        return {"admin", "admin person"}
    return set(ROLES) if method == "get" or path.endswith("/preview") else set(ROLES) - {"readonly"}


@pytest.fixture
async def secrets_of(stage: Stage) -> dict[str, str]:
    found = {}
    for role in ("admin", "sender", "readonly"):
        found[role] = (await stage.call("POST", "/api/v1/keys", {"role": role})).json["key"]
    for name, role in (("agent", "agent"), ("admin person", "admin")):
        found[name] = (await stage.call("POST", "/api/v1/users", {"name": name, "role": role})).json["token"]
    return found


@pytest.mark.parametrize(("path", "method"), ROUTES)
@ON_SQLITE
async def test_each_role_may_do_what_it_may(
    stage: Stage, acmes: Possessions, secrets_of: dict[str, str], path: str, method: str
) -> None:
    for role in ROLES:
        body = BODIES.get((path, method))
        answer = await stage.call(method.upper(), filled(path, acmes), body, key=secrets_of[role])
        if role in allowed(path, method):
            assert answer.status not in (401, 403), (role, answer)
        else:
            assert (answer.status, answer.code) == (403, "wrong_role"), (role, answer)


@pytest.mark.parametrize(("path", "method"), ROUTES)
@ON_SQLITE
async def test_without_a_good_key_nothing_is_done(stage: Stage, acmes: Possessions, path: str, method: str) -> None:
    revoked = (await stage.call("POST", "/api/v1/keys", {"role": "admin"})).json
    assert (await stage.call("DELETE", f"/api/v1/keys/{revoked['key_id']}")).status == 204
    before = await everything_of(stage, "acme")
    url, body = filled(path, acmes), BODIES.get((path, method))
    for answer in [
        await stage.call(method.upper(), url, body, key=""),
        await stage.call(method.upper(), url, body, key="wpk_wrong"),
        await stage.call(method.upper(), url, body, key=revoked["key"]),
        await stage.call(method.upper(), url, body, key=stage.acme.key + "x"),
        await stage.call(method.upper(), url, body, key=acmes.key_id),
        await stage.call(method.upper(), url, body, key="", headers={"authorization": f"Basic {stage.acme.key}"}),
        await stage.call(method.upper(), url, body, key="", headers={"authorization": stage.acme.key}),
        await stage.call(method.upper(), f"{url}?access_token={stage.acme.key}", body, key=""),
    ]:
        assert (answer.status, answer.code) == (401, "not_authenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
    for org in ("globex", "", "ACME", "acme,globex"):
        answer = await stage.call(method.upper(), url, body, headers={"x-org-id": org})
        assert (answer.status, answer.code) == (403, "wrong_org")
    assert await everything_of(stage, "acme") == before


@ON_SQLITE
async def test_the_own_org_may_be_named(stage: Stage) -> None:
    assert (await stage.call("GET", MESSAGES, headers={"x-org-id": "acme"})).status == 200


async def test_public_routes_need_no_key_and_tell_nothing_of_anybody(stage: Stage, acmes: Possessions) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/api/v1/openapi.json"):
        answer = await stage.call("GET", path, key="")
        assert answer.status == 200
        assert b"acme" not in answer.body or path.endswith("openapi.json")
        assert acmes.wamid.encode() not in answer.body


async def test_a_revoked_key_and_an_old_token_end_at_once(stage: Stage) -> None:
    key = (await stage.call("POST", "/api/v1/keys", {"role": "readonly"})).json
    user = (await stage.call("POST", "/api/v1/users", {"name": "Ada"})).json
    for secret in (key["key"], user["token"]):
        assert (await stage.call("GET", MESSAGES, key=secret)).status == 200
    renewed = (await stage.call("POST", f"/api/v1/users/{user['user_id']}/token")).json
    await stage.call("DELETE", f"/api/v1/keys/{key['key_id']}")
    for secret in (key["key"], user["token"]):
        assert (await stage.call("GET", MESSAGES, key=secret)).status == 401
    assert (await stage.call("GET", MESSAGES, key=renewed["token"])).status == 200
    assert (await stage.call("DELETE", f"/api/v1/users/{user['user_id']}")).status == 204
    assert (await stage.call("GET", MESSAGES, key=renewed["token"])).status == 401
    assert (await stage.call("DELETE", f"/api/v1/keys/{key['key_id']}")).status == 404
    assert key["key_id"] not in str(await stage.get("/api/v1/keys"))
    assert user["user_id"] not in str(await stage.get("/api/v1/users"))


# Secrets


async def test_secrets_are_never_read_back(stage: Stage, acmes: Possessions) -> None:
    hidden = await make_secrets(stage)
    posted = await stage.send()
    await stage.becomes(posted["id"], "SENT")
    shown = b""
    for path, method in ROUTES:
        if method == "get":
            shown += (await stage.call("GET", filled(path, replace(acmes, message_id=posted["id"])))).body
    shown += (await stage.call("PATCH", "/api/v1/numbers/1002", {"enabled": False})).body
    shown += (await stage.call("GET", "/metrics", key="")).body
    assert [secret for secret in hidden if secret.encode() in shown] == []
    for listed in (
        await stage.get("/api/v1/numbers"),
        await stage.get("/api/v1/keys"),
        await stage.get("/api/v1/users"),
    ):
        assert not {"token", "app_secret", "verify_token", "key", "digest"} & {name for item in listed for name in item}
