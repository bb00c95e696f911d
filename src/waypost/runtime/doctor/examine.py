"""`waypost doctor`: finds problems of this installation and says what to do."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias

from msgspec.structs import replace

from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.adapters.sql.engine.migrations import WrongSchema
from waypost.adapters.sqlite import facts as sqlite
from waypost.adapters.whatsapp.extras import CloudExtras
from waypost.flow.conversations.bot_images import pictures
from waypost.flow.mailbox_cache import MailboxCache
from waypost.flow.number_cache import NumberCache
from waypost.flow.operations import check_invariants
from waypost.flow.policy_cache import PolicyCache
from waypost.model.ids import NumberId
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import LedgerError
from waypost.rules.receiving import number_check
from waypost.rules.receiving.number_check import NumberCheckResult, NumberCheckState, verdict
from waypost.runtime.doctor import database as judge
from waypost.runtime.doctor import history
from waypost.runtime.doctor.findings import DoctorFinding, DoctorReport, good, warning, wrong
from waypost.runtime.doctor.webhook import check_webhook
from waypost.runtime.settings.definitions import FILE, Settings, SettingsError, load
from waypost.runtime.settings.unknown_settings import unknown_settings
from waypost.runtime.wiring.bots import make_bot
from waypost.runtime.wiring.history_store import open_history_store
from waypost.runtime.wiring.wiring import (
    LOCAL_KEY,
    Ports,
    catalogues,
    media_folder,
    open_vault,
    sqlite_path,
    system_ports,
    with_demo_settings,
)

Inspect: TypeAlias = Callable[[str], Awaitable[Sequence[tuple[bool | None, str, str]]]]
"""For the service at an address: whether it is good (None: a warning), the finding, and what to do."""


async def examine(*, as_json: bool = False, services: Mapping[str, Inspect] | None = None) -> int:
    """0 when nothing is wrong; `services` replace the checks of Redis and the history store."""
    findings = DoctorReport(as_json=as_json)
    with _reporting(findings, "settings"):
        settings = load()
        _check_names(os.environ, findings)
        await _examine(settings, services or {}, findings)
    return findings.end()


async def _examine(settings: Settings, services: Mapping[str, Inspect], findings: DoctorReport) -> None:
    fit = keyed = False
    with _reporting(findings, "database"):
        settings = with_demo_settings(settings)
        findings.add(good(f"settings: {settings.env} mode, database {settings.database_kind}"))
        fit = await _check_database(settings, findings)
    with _reporting(findings, "key"):
        if not settings.local:
            open_vault(settings)
        keyed = True
    if fit and keyed:
        await _check_the_rest(settings, findings)
    await _check_services(settings, services, findings)


def _check_names(environment: Mapping[str, str], findings: DoctorReport) -> None:
    for name, nearest in unknown_settings(environment):
        remedy = f"did you mean {nearest}?" if nearest else "see docs/reference/settings.md"
        findings.add(warning(f"{name} is set, but there is no such setting", remedy))


@contextmanager
def _reporting(findings: DoctorReport, part: str) -> Iterator[None]:
    """An error in one part becomes a finding, and the next part is checked all the same."""
    try:
        yield
    except SettingsError as error:
        findings.add(wrong(str(error), "correct it in the environment or in waypost.toml"))
    except WrongSchema as error:
        text, _, remedy = str(error).rpartition(": ")
        findings.add(wrong(f"{part}: {text}", remedy))
    except LedgerError as error:
        findings.add(wrong(f"{part}: {error}", "check WAYPOST_DATABASE_URL, and that the database is running"))
    except OSError as error:
        text = f"{part}: {error.filename or 'a file'}: {error.strerror or error}"
        findings.add(wrong(text, "give it to the user that runs the server (chown)"))


async def _check_database(settings: Settings, findings: DoctorReport) -> bool:
    """Whether the Ledger can be opened without changing it."""
    path = sqlite_path(settings.database_url)
    if path is None:
        from waypost.adapters.postgres.facts import facts  # noqa: PLC0415  # only where it is used

        found = await facts(settings.database_url)
        findings.extend(judge.of_postgres(found, settings.database_readers))
        return not found.missing and not found.copying and not found.is_moved
    if not path.exists():
        remedy = "set another in WAYPOST_DATABASE_URL, or start the server"
        findings.add(wrong(f"there is no database at {path}", remedy))
        return False
    seen = await asyncio.to_thread(sqlite.facts, path)
    findings.extend(judge.of_sqlite(seen))
    findings.add(judge.of_disk(await asyncio.to_thread(sqlite.place, path)))
    return not seen.missing and not seen.is_a_copy and not seen.is_moved and not seen.damage


async def _check_the_rest(settings: Settings, findings: DoctorReport) -> None:
    with _reporting(findings, "files"):
        await asyncio.to_thread(_check_files, settings, findings)
    with _reporting(findings, "database"):
        ports = await _opened(settings)
        try:
            await _check_with(ports, settings, findings)
        finally:
            await ports.close()


async def _opened(settings: Settings) -> Ports:
    """Without Redis, and with a history store that may not work: their own checks report their problems."""
    ports = await system_ports(replace(settings, redis_url="", history_url=""))
    with suppress(SettingsError):
        store = (
            await open_history_store(settings.history_url, ports.ledger, to_look=True) if settings.history_url else None
        )
        return dataclasses.replace(ports, history=store)
    return ports


def _bot_of(settings: Settings) -> str:
    """From this command's settings; a server may run with others."""
    named = settings.bot not in ("", "none")
    return f"bot: {settings.bot}, by these settings" if named else "bot: none in these settings"


async def _check_with(ports: Ports, settings: Settings, findings: DoctorReport) -> None:
    with _reporting(findings, "bot"):
        seen = pictures(ports.ledger.files, ports.blob_store, ports.clock)
        await asyncio.to_thread(make_bot, settings, ports.wire, seen)
        findings.add(good(_bot_of(settings)))
    with _reporting(findings, "database"):
        await _check_ledger(ports.ledger, findings)
        await _check_invariants(settings, ports, findings)
    if ports.history is not None or not settings.history_url:  # an unreadable address is not the same as none
        await _check_bodies(ports, settings, findings)
    with _reporting(findings, "numbers"):
        await _check_numbers(settings, ports, findings)
    with _reporting(findings, "mailboxes"):
        await _check_mailboxes(ports, findings)


async def _check_bodies(ports: Ports, settings: Settings, findings: DoctorReport) -> None:
    with _reporting(findings, "history"):
        policies = PolicyCache(ports.ledger.policies, ports.clock, settings.tuning().defaults)
        findings.extend(await history.of_bodies(ports.ledger, ports.history, policies, ports.clock.now()))


def _check_files(settings: Settings, findings: DoctorReport) -> None:
    path, media = sqlite_path(settings.database_url), media_folder(settings)
    private = [file for file in (path, path.with_name(LOCAL_KEY) if path else None, FILE) if file and file.exists()]
    for file in private:
        findings.extend(list(judge.of_file(sqlite.place(file))))
    if media.is_dir():
        findings.extend(list(judge.of_folder(sqlite.place(media))))
        findings.add(judge.room(sqlite.place(media)))


async def _check_ledger(ledger: Ledger, findings: DoctorReport) -> None:
    orgs = await ledger.accounts.orgs()
    if orgs:
        findings.add(good(f"orgs: {len(orgs)}"))
    else:
        findings.add(wrong("there is no org yet", "waypost admin create-org NAME"))


async def _check_invariants(settings: Settings, ports: Ports, findings: DoctorReport) -> None:
    """The invariant checks that servers run every minute, run now on the newest messages."""
    newest = await ports.ledger.invariants.newest()
    wanted = check_invariants.message_scan(settings.tuning(), ports.clock.now(), newest - check_invariants.PAGE, newest)
    found = list(await ports.ledger.invariants.look(wanted))
    newest_conversation = await ports.ledger.invariants.newest_conversation()
    latest = check_invariants.conversation_scan(
        ports.clock.now(), newest_conversation - check_invariants.CONVERSATIONS, newest_conversation
    )
    found += await ports.ledger.invariants.conversations(latest)
    found += (await ports.ledger.invariants.feeds("", check_invariants.FEEDS, check_invariants.LATEST))[0]
    for finding in found:
        remedy = "see docs/explanation/proof.md, and report it with `waypost why` of the message"
        findings.add(wrong(f"invariant {finding.invariant.value}: {finding.subject}", remedy))
    if not found:
        count = min(newest, check_invariants.PAGE)
        findings.add(good(f"invariants: none is violated among the newest {count} messages"))


async def _check_numbers(settings: Settings, ports: Ports, findings: DoctorReport) -> None:
    cache = NumberCache(ports.ledger.accounts, ports.vault, ports.clock, settings.graph_url)
    opened = list(await cache.all())
    for number in await ports.ledger.accounts.numbers():
        if cache.is_sealed(number.id):
            findings.add(_trial(number.id, number_check.sealed()))
    provider = CloudExtras(ports.wire, timeout=5)
    for connected in opened:
        answer = await provider.look_up(connected.sender)
        findings.add(_trial(connected.number.id, verdict(answer, connected.number, connected.graph_url)))
    findings.extend(await check_webhook(settings, opened, ports))


def _trial(number: NumberId, result: NumberCheckResult) -> DoctorFinding:
    text = f"number {number}: {result.said}"
    return good(text) if result.state is NumberCheckState.WORKS else wrong(text, result.remedy or "")


async def _check_mailboxes(ports: Ports, findings: DoctorReport) -> None:
    """Connects and logs in to each mailbox; sends nothing."""
    mailer = ports.mailer or SmtpMailer(catalogues()["smtp"], timeout=10)
    cache = MailboxCache(ports.ledger.mailboxes, ports.vault, ports.clock)
    try:
        for account in await ports.ledger.mailboxes.of():
            name = f"mailbox {account.address} ({account.id})"
            connected = await cache.find(account.id)
            if connected is None or connected.mailbox is None:
                remedy = "set the WAYPOST_SECRET_KEY it was encrypted with"
                findings.add(wrong(f"{name}: its password cannot be decrypted", remedy))
            elif trouble := await mailer.greet(connected.mailbox):
                remedy = f"check its server, user name and password: `waypost admin change-mailbox {account.org_id} …`"
                findings.add(wrong(f"{name}: {trouble}", remedy))
            else:
                findings.add(good(f"{name}: {account.host} accepts the login"))
    finally:
        await mailer.close()


_SERVICES = {"redis_url": "waypost.runtime.doctor.redis", "history_url": "waypost.runtime.doctor.history"}
"""By setting: the module with the service's `findings`."""


async def _check_services(settings: Settings, given: Mapping[str, Inspect], findings: DoctorReport) -> None:
    """Loads a service's check only if the service is set."""
    for setting, module in _SERVICES.items():
        url: str = getattr(settings, setting)
        if not url:
            continue
        inspect: Inspect = given.get(setting) or importlib.import_module(module).findings
        for is_well, text, remedy in await inspect(url):
            findings.add(good(text) if is_well else (warning if is_well is None else wrong)(text, remedy))
