"""`waypost admin …` for mailboxes, and for a number's failover."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from waypost.flow.accounts import access
from waypost.flow.accounts import mailboxes as boxes
from waypost.flow.sending import failover
from waypost.flow.world import World
from waypost.model.audit import OPERATOR
from waypost.model.email import MailAccount
from waypost.model.ids import MailboxId, NumberId, OrgId
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.accounts.mailboxes import MailboxChange
from waypost.rules.text.json_validation import InvalidField
from waypost.runtime.cli.admin.app import PhoneNumberIdArgument, app
from waypost.runtime.cli.app import CommandFailed, with_world
from waypost.runtime.cli.tables import JsonOption, OrgArgument, checked, known_org, of_known, show, table

Box = Annotated[str, typer.Argument(metavar="MAILBOX_ID", help="The mailbox's id, as `mailboxes` lists it.")]
HostOption = Annotated[str | None, typer.Option(help="The mail server.")]
PortOption = Annotated[int | None, typer.Option(help="By default 465 for tls, 587 for starttls, 25 for none.")]
Username = Annotated[str | None, typer.Option(help="The user name at the mail server.")]
Password = Annotated[
    str | None,
    typer.Option(
        envvar="WAYPOST_MAILBOX_PASSWORD", help="Its password; better set WAYPOST_MAILBOX_PASSWORD than pass it here."
    ),
]
SecurityOption = Annotated[str, typer.Option(help="starttls, tls or none.")]


def _worked(answer: MailAccount | InvalidField | None, otherwise: str) -> MailAccount:
    if isinstance(answer, InvalidField):
        raise CommandFailed(f"--{answer.field} {answer.reason}")
    if answer is None:
        raise CommandFailed(otherwise)
    return answer


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


@app.command()
def connect_mailbox(  # noqa: PLR0913, PLR0917  # each is an option of its own
    org: OrgArgument,
    address: Annotated[str, typer.Option(help="The sender's address, e.g. shop@example.com.")],
    host: Annotated[str, typer.Option(help="The mail server.")],
    port: PortOption = None,
    security: SecurityOption = "starttls",
    username: Username = None,
    password: Password = None,
    name: Annotated[str, typer.Option(help="Shown beside the address.")] = "",
    domain: Annotated[str | None, typer.Option(help="The domain of Message-IDs; by default the address's own.")] = None,
    pace: Annotated[int, typer.Option(help="Emails per second.")] = 10,
    json: JsonOption = False,
) -> None:
    """Connect a mailbox to send emails from."""
    login = _given(port=port, username=username, password=password, domain=domain)
    from waypost.http.accounts.mailboxes import ConnectMailbox  # noqa: PLC0415  # the web framework: a quarter of a second that no other command should pay

    data = checked(ConnectMailbox, address=address, host=host, security=security, name=name, pace=pace, **login)
    new = boxes.NewMailbox(**msgspec.structs.asdict(data))

    async def connect(world: World) -> MailAccount:
        answer = await boxes.connect(await known_org(org, world), new, world, OPERATOR)
        return _worked(answer, f"mailbox {address} is connected already: `waypost admin mailboxes {org}` lists it")

    account = with_world(connect)
    show({"mailbox_id": account.id, "address": account.address}, as_json=json)


@app.command()
def mailboxes(org: OrgArgument, json: JsonOption = False) -> None:
    """List an org's mailboxes."""
    found = of_known(org, lambda world: world.ledger.mailboxes.of(OrgId(org)))
    columns = ["mailbox_id", "address", "server", "security", "enabled"]
    rows = [[m.id, m.address, f"{m.host}:{m.port}", m.security.value, str(m.enabled).lower()] for m in found]
    table(columns, rows, as_json=json)


@app.command()
def change_mailbox(
    org: OrgArgument,
    mailbox_id: Box,
    host: HostOption = None,
    port: PortOption = None,
    security: Annotated[str | None, typer.Option(help="starttls, tls or none.")] = None,
    username: Username = None,
    password: Password = None,
    enable: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Enable or disable it; while disabled, its emails wait.")
    ] = None,
) -> None:
    """Change a mailbox; a new password releases the emails it held back."""
    given = _given(host=host, port=port, security=security, username=username, password=password, enabled=enable)
    from waypost.http.accounts.mailboxes import ChangeMailbox  # noqa: PLC0415  # the web framework: a quarter of a second that no other command should pay

    data = checked(ChangeMailbox, **given)
    wanted = {field: getattr(data, field) for field in given if field != "password"}

    async def change(world: World) -> None:
        change_ = MailboxChange(**wanted)
        answer = await boxes.change(OrgId(org), MailboxId(mailbox_id), change_, password, world, OPERATOR)
        _worked(answer, f"org {org} has no mailbox {mailbox_id}")

    with_world(change)
    sys.stdout.write(f"changed {mailbox_id}\n")


@app.command()
def disconnect_mailbox(org: OrgArgument, mailbox_id: Box) -> None:
    """Disconnect a mailbox; emails still queued for it become FAILED."""
    if not with_world(lambda world: boxes.disconnect(OrgId(org), MailboxId(mailbox_id), world, OPERATOR)):
        raise CommandFailed(f"org {org} has no mailbox {mailbox_id}")
    sys.stdout.write(f"disconnected {mailbox_id}\n")


@app.command("failover")
def set_failover(
    org: OrgArgument,
    phone_number_id: PhoneNumberIdArgument,
    to: Annotated[str | None, typer.Option(help="The number that takes over; omit it to remove the failover.")] = None,
) -> None:
    """Set the number that takes over when another cannot send for long."""
    number = NumberId(phone_number_id)

    async def change(world: World) -> None:
        wrong = await failover.check(OrgId(org), number, NumberId(to), world) if to else None
        if wrong is not None:
            raise CommandFailed(f"--to {wrong.reason}")
        wanted = NumberChange(failover=NumberId(to)) if to else NumberChange(no_failover=True)
        if await access.change_number(OrgId(org), number, wanted, {}, world, OPERATOR) is None:
            raise CommandFailed(f"org {org} has no number {phone_number_id}")

    with_world(change)
    sys.stdout.write(f"{to} takes over for {number}\n" if to else f"no number takes over for {number}\n")
