"""`waypost doctor`: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from rich.console import Console

from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.flow import detect
from waypost.flow.mail_book import MailBook
from waypost.flow.numbers import NumberBook
from waypost.ports.failure import LedgerError
from waypost.ports.ledger import Ledger
from waypost.ports.wire import WireError
from waypost.runtime.settings import Settings, SettingsError, load
from waypost.runtime.wiring import Ports, as_the_demo, catalogues, open_vault, sqlite_path, system_ports


class _Findings:
    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self.wrong = 0

    def good(self, text: str) -> None:
        self._console.print(f"[green]ok[/green]    {text}")

    def bad(self, text: str, remedy: str) -> None:
        self.wrong += 1
        self._console.print(f"[red]wrong[/red] {text}\n      → {remedy}")


async def examine() -> int:
    """0 when nothing is wrong."""
    findings = _Findings()
    try:
        settings = as_the_demo(load())
        path = sqlite_path(settings.database_url)
        findings.good(f"settings: {settings.env} mode, database {settings.database_kind}")
        if not settings.local:
            open_vault(settings)
        if path is not None and not path.exists():
            findings.bad(f"there is no database at {path}", "name another in WAYPOST_DATABASE_URL, or start the server")
            return 1
        ports = await system_ports(settings, answering=True)
        findings.good(f"bot: {settings.bot or 'none'}")
    except SettingsError as error:
        findings.bad(str(error), "mend it in the environment or in waypost.toml")
        return 1
    except LedgerError as error:
        findings.bad(f"database: {error}", "check WAYPOST_DATABASE_URL, and run `waypost migrate`")
        return 1
    try:
        await _check_ledger(ports.ledger, findings)
        await _check_invariants(settings, ports, findings)
        await _check_numbers(settings, ports, findings)
        await _check_mailboxes(ports, findings)
    finally:
        await ports.close()
    return 1 if findings.wrong else 0


async def _check_ledger(ledger: Ledger, findings: _Findings) -> None:
    took = await _timed(ledger.ping)
    findings.good(f"database: answers in {took * 1000:.1f} ms with the right schema")
    orgs = await ledger.accounts.orgs()
    if orgs:
        findings.good(f"orgs: {len(orgs)}")
    else:
        findings.bad("there is no org yet", "waypost admin create-org NAME")


async def _check_invariants(settings: Settings, ports: Ports, findings: _Findings) -> None:
    """What the loss detector of the servers looks for every minute, looked for now among the newest messages."""
    newest = await ports.ledger.detector.newest()
    wanted = detect.wanted(settings.tuning(), ports.clock.now(), newest - detect.PAGE, newest)
    found = list(await ports.ledger.detector.look(wanted))
    talks = await ports.ledger.detector.newest_conversation()
    latest = detect.wanted_talks(ports.clock.now(), talks - detect.TALKS, talks)
    found += await ports.ledger.detector.talks(latest)
    for finding in found:
        findings.bad(
            f"invariant {finding.invariant.value}: {finding.subject}",
            "see docs/explanation/proof.md, and report it with `waypost why` of the message",
        )
    if not found:
        findings.good(f"invariants: none is violated among the newest {min(newest, detect.PAGE)} messages")


async def _check_numbers(settings: Settings, ports: Ports, findings: _Findings) -> None:
    book = NumberBook(ports.ledger.accounts, ports.vault, ports.clock, settings.graph_url)
    opened = list(await book.all())
    for number in await ports.ledger.accounts.numbers():
        if book.is_sealed(number.id):
            findings.bad(
                f"number {number.id}: its secrets cannot be opened", "set the WAYPOST_SECRET_KEY it was sealed with"
            )
    for connected in opened:
        headers = {"authorization": f"Bearer {connected.token}"}
        url = f"{connected.graph_url}/{connected.number.id}"
        try:
            reply = await ports.wire.request("GET", url, headers=headers, timeout=5)
        except WireError as error:
            findings.bad(
                f"number {connected.number.id}: the provider does not answer ({error})",
                f"is {connected.graph_url} reachable?",
            )
            continue
        if reply.status == 200:
            findings.good(f"number {connected.number.id}: the provider knows it")
        else:
            findings.bad(
                f"number {connected.number.id}: the provider answers {reply.status}",
                "check its token and phone_number_id",
            )


async def _check_mailboxes(ports: Ports, findings: _Findings) -> None:
    """Each is greeted and logged into; nothing is sent."""
    mailer = ports.mailer or SmtpMailer(catalogues()["smtp"], timeout=10)
    book = MailBook(ports.ledger.mailboxes, ports.vault, ports.clock)
    try:
        for account in await ports.ledger.mailboxes.of():
            name = f"mailbox {account.address} ({account.id})"
            connected = await book.find(account.id)
            if connected is None or connected.mailbox is None:
                findings.bad(f"{name}: its password cannot be opened", "set the WAYPOST_SECRET_KEY it was sealed with")
            elif wrong := await mailer.greet(connected.mailbox):
                remedy = f"check its server, user name and password: `waypost admin change-mailbox {account.org_id} …`"
                findings.bad(f"{name}: {wrong}", remedy)
            else:
                findings.good(f"{name}: {account.host} lets us in")
    finally:
        await mailer.close()


async def _timed(action: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await action()
    return time.perf_counter() - started
