"""/api/v1/mailboxes: where emails are sent from, for admins."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.di import Provide
from litestar.params import Body, FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from waypost.flow import mailboxes
from waypost.flow.audit import actor_of
from waypost.http.context import Asking, Here, admin
from waypost.http.documented import MAILBOX_EXAMPLES, problems
from waypost.http.problems import Problem
from waypost.http.views import NO_NUL, Secret
from waypost.model.email import MailAccount, Security
from waypost.model.ids import MailboxId
from waypost.model.time import to_datetime
from waypost.ports.mailboxes import MailboxChange
from waypost.rules.shape import Invalid

Line = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
Named = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]
Port = Annotated[int, Meta(ge=1, le=65535)]
Pace = Annotated[int, Meta(ge=1, le=1000)]
LONGEST_ID = 64


class ConnectMailbox(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A mailbox and its login; the password is encrypted at rest and never shown again."""

    address: Annotated[str, Meta(max_length=254, examples=["shop@example.com"])]
    host: Named
    name: Line = ""
    domain: Named | None = None
    port: Port | None = None
    security: Security = Security.STARTTLS
    username: Named | None = None
    password: Secret | None = None
    enabled: bool = True
    pace: Pace = 10


class ChangeMailbox(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change; what is left out stays."""

    name: Line | UnsetType = UNSET
    domain: Named | UnsetType = UNSET
    host: Named | UnsetType = UNSET
    port: Port | UnsetType = UNSET
    security: Security | UnsetType = UNSET
    username: Named | UnsetType = UNSET
    password: Secret | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    pace: Pace | UnsetType = UNSET


class MailboxView(msgspec.Struct, kw_only=True):
    mailbox_id: str
    """What a message names in `from`."""
    org_id: str
    address: str
    name: str
    domain: str
    host: str
    port: int
    security: Security
    username: str | None
    enabled: bool
    pace: int
    created_at: datetime
    updated_at: datetime


def mailbox_view(account: MailAccount) -> MailboxView:
    return MailboxView(
        mailbox_id=account.id,
        org_id=account.org_id,
        address=account.address,
        name=account.name,
        domain=account.domain,
        host=account.host,
        port=account.port,
        security=account.security,
        username=account.username,
        enabled=account.enabled,
        pace=account.pace,
        created_at=to_datetime(account.created_at),
        updated_at=to_datetime(account.updated_at),
    )


@post("/mailboxes", summary="Connect a mailbox", responses=problems(400, 409, 413, 422))
async def connect_mailbox(
    data: Annotated[ConnectMailbox, Body(examples=MAILBOX_EXAMPLES)], caller: Asking, world: Here
) -> MailboxView:
    """The mail server need not be reachable for this."""
    new = mailboxes.NewMailbox(**msgspec.structs.asdict(data))
    account = await mailboxes.connect(caller.org_id, new, world, actor_of(caller))
    if isinstance(account, Invalid):
        raise _invalid(account)
    if account is None:
        raise Problem(409, "already_connected", f"mailbox {data.address} is connected already", field="address")
    return mailbox_view(account)


@get("/mailboxes", summary="The connected mailboxes", responses=problems())
async def list_mailboxes(caller: Asking, world: Here) -> list[MailboxView]:
    return [mailbox_view(account) for account in await world.ledger.mailboxes.of(caller.org_id)]


@patch("/mailboxes/{mailbox_id:str}", summary="Change a mailbox", responses=problems(400, 404, 413, 422))
async def change_mailbox(
    mailbox_id: FromPath[str], data: JSONBody[ChangeMailbox], caller: Asking, world: Here
) -> MailboxView:
    """A new password, or anything else that may mend it, releases the messages that wait for that."""
    given = {name: value for name, value in msgspec.structs.asdict(data).items() if value is not UNSET}
    password = given.pop("password", None)
    mailbox, wanted = _possible(mailbox_id), MailboxChange(**given)
    changed = await mailboxes.change(caller.org_id, mailbox, wanted, password, world, actor_of(caller))
    if isinstance(changed, Invalid):
        raise _invalid(changed)
    if changed is None:
        raise _missing(mailbox_id)
    return mailbox_view(changed)


@delete("/mailboxes/{mailbox_id:str}", summary="Disconnect a mailbox", responses=problems(404))
async def disconnect_mailbox(mailbox_id: FromPath[str], caller: Asking, world: Here) -> None:
    """Messages that are still queued for it end FAILED."""
    if not await mailboxes.disconnect(caller.org_id, _possible(mailbox_id), world, actor_of(caller)):
        raise _missing(mailbox_id)


def _possible(name: str) -> MailboxId:
    """The name, or 404 for one that nothing here can have."""
    if len(name) > LONGEST_ID or not name.isascii() or not name.isprintable():
        raise _missing(name)
    return MailboxId(name)


def _missing(name: str) -> Problem:
    return Problem(404, "not_found", f"this org has no mailbox {name[:80]}")


def _invalid(wrong: Invalid) -> Problem:
    return Problem(422, "invalid_payload", f"{wrong.field}: {wrong.reason}", field=wrong.field)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(admin)},
    tags=["Accounts"],
    route_handlers=[connect_mailbox, list_mailboxes, change_mailbox, disconnect_mailbox],
)
