"""/api/v1: numbers, keys, users and the webhook journal, for admins."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.di import Provide
from litestar.params import Body, FromPath, JSONBody, QueryParameter

from waypost.flow.accounts import access, check_number
from waypost.flow.conversations import turns
from waypost.flow.operations.audit import actor_of
from waypost.flow.receiving import replay_webhook
from waypost.flow.sending import failover
from waypost.http.accounts.examples import NUMBER_EXAMPLES
from waypost.http.accounts.number_check import try_number
from waypost.http.edge.context import CurrentCaller, CurrentWorld, admin
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.views import (
    ChangeNumber,
    ConnectNumber,
    CreateKey,
    CreateUser,
    JournalView,
    KeyView,
    NumberView,
    RotateKey,
    UserView,
    journal_view,
    key_view,
    number_view,
    user_view,
)
from waypost.model.account import Number, Role
from waypost.model.ids import KeyId, NumberId, UserId
from waypost.model.time import minutes
from waypost.model.update import JournalState
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.platform.failure import LedgerError
from waypost.rules.content.address import web_address

_ITEM = re.compile(r"[0-9]{1,18}", re.ASCII)
_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)


def _graph_url(url: str | None) -> str | None:
    if url is not None and web_address(url) is None:
        raise Problem(422, "invalid_payload", "graph_url must be an http(s) address", field="graph_url")
    return web_address(url) if url else None


@post("/numbers", summary="Connect a WhatsApp number", responses=problems(400, 409, 413, 422))
async def connect_number(
    data: Annotated[ConnectNumber, Body(examples=NUMBER_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> NumberView:
    """The provider is not called: the number may be connected while it is unreachable."""
    new = access.NewNumber(
        number=NumberId(data.phone_number_id),
        waba_id=data.waba_id,
        secrets={"token": data.token, "app_secret": data.app_secret, "verify_token": data.verify_token},
        graph_url=_graph_url(data.graph_url),
        error_catalogue=data.error_catalogue,
        enabled=data.enabled,
        pace=data.pace,
        tier=data.tier,
    )
    number = await access.connect_number(caller.org_id, new, world, actor_of(caller))
    if number is None:
        raise Problem(409, "already_connected", f"number {data.phone_number_id} is connected already")
    return await _shown(number, world)


@get("/numbers", summary="The connected numbers", responses=problems())
async def list_numbers(caller: CurrentCaller, world: CurrentWorld) -> list[NumberView]:
    checks = await check_number.last_checks(caller.org_id, world)
    return [number_view(number, checks.get(number.id)) for number in await access.numbers(caller.org_id, world)]


async def _shown(number: Number, world: CurrentWorld) -> NumberView:
    """For a number this call has already stored: show it even if the Ledger no longer answers."""
    try:
        checks = await check_number.last_checks(number.org_id, world)
    except LedgerError:
        checks = {}
    return number_view(number, checks.get(number.id))


@patch("/numbers/{phone_number_id:str}", summary="Change a number", responses=problems(400, 404, 413, 422))
async def change_number(
    phone_number_id: FromPath[str], data: JSONBody[ChangeNumber], caller: CurrentCaller, world: CurrentWorld
) -> NumberView:
    given = {name: value for name, value in msgspec.structs.asdict(data).items() if value is not msgspec.UNSET}
    secrets = {name: given.pop(name) for name in access.SECRETS if name in given}
    if "graph_url" in given:
        given["graph_url"] = _graph_url(given["graph_url"])
    number_id = NumberId(_possible("number", phone_number_id))
    if "failover" in given:
        given |= await _failover(number_id, given.pop("failover"), caller, world)
    change = NumberChange(**given)
    number = await access.change_number(caller.org_id, number_id, change, secrets, world, actor_of(caller))
    if number is None:
        raise _missing("number", phone_number_id)
    return await _shown(number, world)


async def _failover(number: NumberId, other: str | None, caller: CurrentCaller, world: CurrentWorld) -> dict[str, Any]:
    if other is None:
        return {"no_failover": True}
    if wrong := await failover.check(caller.org_id, number, NumberId(other), world):
        raise Problem(422, "invalid_payload", f"failover: {wrong.reason}", field="failover")
    return {"failover": NumberId(other)}


@delete("/numbers/{phone_number_id:str}", summary="Disconnect a number", responses=problems(404))
async def disconnect_number(phone_number_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    number = NumberId(_possible("number", phone_number_id))
    if not await access.disconnect_number(caller.org_id, number, world, actor_of(caller)):
        raise _missing("number", phone_number_id)


def _possible(what: str, name: str) -> str:
    """The name; 404 if it is not a valid one."""
    if not _NAME.fullmatch(name):
        raise _missing(what, name)
    return name


def _missing(what: str, name: str) -> Problem:
    return Problem(404, "not_found", f"this org has no {what} {name[:80]}")


@post("/keys", summary="Create an API key", responses=problems(400, 413, 422))
async def create_key(data: JSONBody[CreateKey], caller: CurrentCaller, world: CurrentWorld) -> KeyView:
    """The key is shown only once."""
    issued = await access.create_key(caller.org_id, Role(data.role), data.label, world, actor_of(caller))
    return KeyView(key_id=issued.id, role=Role(data.role), label=data.label, key=issued.secret)


@get("/keys", summary="The live API keys", responses=problems())
async def list_keys(caller: CurrentCaller, world: CurrentWorld) -> list[KeyView]:
    return [key_view(key) for key in await access.live_keys(caller.org_id, world)]


@post("/keys/{key_id:str}/rotate", summary="Replace an API key by a new one", responses=problems(400, 404, 413, 422))
async def rotate_key(
    key_id: FromPath[str], data: JSONBody[RotateKey], caller: CurrentCaller, world: CurrentWorld
) -> KeyView:
    """Same role and label. The new key is shown only once; the old one ends after the grace period."""
    key, grace = KeyId(_possible("key", key_id)), minutes(data.grace_minutes)
    # Read first: a secret that is created and then not shown is lost.
    old = next((k for k in await access.live_keys(caller.org_id, world) if k.id == key), None)
    issued = await access.rotate_key(caller.org_id, key, grace, world, actor_of(caller)) if old else None
    if issued is None or old is None:
        raise _missing("key", key_id)
    made = msgspec.structs.replace(old, id=KeyId(issued.id), created_at=issued.at)
    return msgspec.structs.replace(key_view(made), key=issued.secret)


@delete("/keys/{key_id:str}", summary="Revoke an API key", responses=problems(404))
async def revoke_key(key_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    key = KeyId(_possible("key", key_id))
    if not await access.revoke_key(caller.org_id, key, world, actor_of(caller)):
        raise _missing("key", key_id)


@post("/users", summary="Add a user", responses=problems(400, 413, 422))
async def create_user(data: JSONBody[CreateUser], caller: CurrentCaller, world: CurrentWorld) -> UserView:
    """The token is shown only once."""
    issued = await access.create_user(caller.org_id, data.name, Role(data.role), world, actor_of(caller))
    return UserView(user_id=issued.id, name=data.name, role=Role(data.role), token=issued.secret)


@get("/users", summary="The org's users", responses=problems())
async def list_users(caller: CurrentCaller, world: CurrentWorld) -> list[UserView]:
    return [user_view(user) for user in await access.users(caller.org_id, world)]


@post("/users/{user_id:str}/token", status_code=200, summary="Renew a user's token", responses=problems(404))
async def renew_token(user_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> UserView:
    """The old token stops working at once."""
    user = UserId(_possible("user", user_id))
    found = next((u for u in await access.users(caller.org_id, world) if u.id == user), None)
    issued = await access.renew_token(caller.org_id, user, world, actor_of(caller)) if found else None
    if issued is None or found is None:
        raise _missing("user", user_id)
    return UserView(user_id=user_id, name=found.name, role=found.role, token=issued.secret)


@delete("/users/{user_id:str}", summary="Remove a user", responses=problems(404))
async def remove_user(user_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    user = UserId(_possible("user", user_id))
    if not await turns.remove_user(caller.org_id, user, world, actor_of(caller)):
        raise _missing("user", user_id)


@get("/webhook-journal", summary="Webhook items other than messages and statuses", responses=problems(400))
async def list_journal(
    caller: CurrentCaller,
    world: CurrentWorld,
    journal_state: Annotated[JournalState | None, QueryParameter(name="state", required=False)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> list[JournalView]:
    """Newest first. `state`: `pending`, `done` (applied), `kept` (nothing to do) or `failed`."""
    return [
        journal_view(entry) for entry in await replay_webhook.journal_items(caller.org_id, journal_state, limit, world)
    ]


@post(
    "/webhook-journal/{item_id:str}/replay",
    status_code=200,
    summary="Replay a journal item",
    responses=problems(404, 409),
)
async def replay_item(item_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> JournalView:
    """Applies the item again as if it had just arrived; the response shows the outcome."""
    if not _ITEM.fullmatch(item_id):
        raise _missing("journaled item", item_id)
    replayed = await replay_webhook.replay(caller.org_id, int(item_id), world)
    if isinstance(replayed, replay_webhook.JournalItemNotFound):
        raise _missing("journaled item", item_id)
    if isinstance(replayed, replay_webhook.NotReplayable):
        raise Problem(409, "not_replayable", f"item {item_id} was acted on already")
    return journal_view(replayed)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(admin)},
    tags=["Accounts"],
    route_handlers=[
        connect_number,
        list_numbers,
        change_number,
        disconnect_number,
        try_number,
        create_key,
        list_keys,
        rotate_key,
        revoke_key,
        create_user,
        list_users,
        renew_token,
        remove_user,
        list_journal,
        replay_item,
    ],
)
