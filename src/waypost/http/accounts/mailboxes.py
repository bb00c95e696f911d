"""/api/v1/mailboxes: the mailboxes that emails are sent from, for admins."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.di import Provide
from litestar.params import Body, FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from waypost.flow.accounts import mailboxes
from waypost.flow.operations.audit import actor_of
from waypost.http.accounts.examples import MAILBOX_EXAMPLES
from waypost.http.edge.context import CurrentCaller, CurrentWorld, admin
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.views import NO_NUL, Secret
from waypost.model.email import MailAccount, Security
from waypost.model.ids import MailboxId
from waypost.model.time import to_datetime
from waypost.ports.accounts.mailboxes import MailboxChange
from waypost.rules.text.json_validation import InvalidField

TextLine = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
RequiredText = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]
PortNumber = Annotated[int, Meta(ge=1, le=65535)]
MailPace = Annotated[int, Meta(ge=1, le=1000)]
LONGEST_ID = 64


class ConnectMailbox(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A mailbox and its login; the password is encrypted at rest and never shown again."""

    address: Annotated[str, Meta(max_length=254, examples=["shop@example.com"])]
    host: RequiredText
    name: TextLine = ""
    domain: RequiredText | None = None
    port: PortNumber | None = None
    security: Security = Security.STARTTLS
    username: RequiredText | None = None
    password: Secret | None = None
    enabled: bool = True
    pace: MailPace = 10


class ChangeMailbox(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields to change; omitted fields stay."""

    name: TextLine | UnsetType = UNSET
    domain: RequiredText | UnsetType = UNSET
    host: RequiredText | UnsetType = UNSET
    port: PortNumber | UnsetType = UNSET
    security: Security | UnsetType = UNSET
    username: RequiredText | UnsetType = UNSET
    password: Secret | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    pace: MailPace | UnsetType = UNSET


class MailboxView(msgspec.Struct, kw_only=True):
    mailbox_id: str
    """The value of `from` in a message."""
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
    data: Annotated[ConnectMailbox, Body(examples=MAILBOX_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> MailboxView:
    """The mail server is not called: the mailbox may be connected while it is unreachable."""
    new = mailboxes.NewMailbox(**msgspec.structs.asdict(data))
    account = await mailboxes.connect(caller.org_id, new, world, actor_of(caller))
    if isinstance(account, InvalidField):
        raise _invalid(account)
    if account is None:
        raise Problem(409, "already_connected", f"mailbox {data.address} is connected already", field="address")
    return mailbox_view(account)


@get("/mailboxes", summary="The connected mailboxes", responses=problems())
async def list_mailboxes(caller: CurrentCaller, world: CurrentWorld) -> list[MailboxView]:
    return [mailbox_view(account) for account in await mailboxes.mailboxes(caller.org_id, world)]


@patch("/mailboxes/{mailbox_id:str}", summary="Change a mailbox", responses=problems(400, 404, 413, 422))
async def change_mailbox(
    mailbox_id: FromPath[str], data: JSONBody[ChangeMailbox], caller: CurrentCaller, world: CurrentWorld
) -> MailboxView:
    """A change that may fix the mailbox, such as a new password, releases the messages it held back."""
    given = {name: value for name, value in msgspec.structs.asdict(data).items() if value is not UNSET}
    password = given.pop("password", None)
    mailbox, wanted = _possible(mailbox_id), MailboxChange(**given)
    changed = await mailboxes.change(caller.org_id, mailbox, wanted, password, world, actor_of(caller))
    if isinstance(changed, InvalidField):
        raise _invalid(changed)
    if changed is None:
        raise _missing(mailbox_id)
    return mailbox_view(changed)


@delete("/mailboxes/{mailbox_id:str}", summary="Disconnect a mailbox", responses=problems(404))
async def disconnect_mailbox(mailbox_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> None:
    """Messages still queued for it become FAILED."""
    if not await mailboxes.disconnect(caller.org_id, _possible(mailbox_id), world, actor_of(caller)):
        raise _missing(mailbox_id)


def _possible(name: str) -> MailboxId:
    """The id; 404 if it is not a valid one."""
    if len(name) > LONGEST_ID or not name.isascii() or not name.isprintable():
        raise _missing(name)
    return MailboxId(name)


def _missing(name: str) -> Problem:
    return Problem(404, "not_found", f"this org has no mailbox {name[:80]}")


def _invalid(wrong: InvalidField) -> Problem:
    return Problem(422, "invalid_payload", f"{wrong.field}: {wrong.reason}", field=wrong.field)


router = Router(
    "/api/v1",
    dependencies={"caller": Provide(admin)},
    tags=["Accounts"],
    route_handlers=[connect_mailbox, list_mailboxes, change_mailbox, disconnect_mailbox],
)
