"""`waypost doctor`: what is wrong with this installation, and what to do about it."""

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
from waypost.adapters.sql.migrations import WrongSchema
from waypost.adapters.sqlite import facts as sqlite
from waypost.adapters.whatsapp.extras import CloudExtras
from waypost.flow import detect
from waypost.flow.mail_book import MailBook
from waypost.flow.numbers import NumberBook
from waypost.flow.pictures import pictures
from waypost.flow.policy_book import PolicyBook
from waypost.model.ids import NumberId
from waypost.ports.failure import LedgerError
from waypost.ports.ledger import Ledger
from waypost.rules import number_trial
from waypost.rules.number_trial import Trial, Verdict, verdict
from waypost.runtime import doctor_database as judge
from waypost.runtime import doctor_log
from waypost.runtime.bots import make_bot
from waypost.runtime.doctor_findings import Finding, Findings, good, warning, wrong
from waypost.runtime.doctor_webhook import check_webhook
from waypost.runtime.log_store import open_log
from waypost.runtime.misspelt import misspelt
from waypost.runtime.settings import FILE, Settings, SettingsError, load
from waypost.runtime.wiring import (
    LOCAL_KEY,
    Ports,
    as_the_demo,
    catalogues,
    media_folder,
    open_vault,
    sqlite_path,
    system_ports,
)

Inspect: TypeAlias = Callable[[str], Awaitable[Sequence[tuple[bool | None, str, str]]]]
"""Of the service at an address: whether it is well (None: to be watched), what was found, and what to do."""


async def examine(*, as_json: bool = False, services: Mapping[str, Inspect] | None = None) -> int:
    """0 when nothing is wrong; `services` stand in for those that look at Redis and at the Log."""
    findings = Findings(as_json=as_json)
    with _going_on(findings, "settings"):
        settings = load()
        _check_names(os.environ, findings)
        await _examine(settings, services or {}, findings)
    return findings.end()


async def _examine(settings: Settings, services: Mapping[str, Inspect], findings: Findings) -> None:
    fit = keyed = False
    with _going_on(findings, "database"):
        settings = as_the_demo(settings)
        findings.add(good(f"settings: {settings.env} mode, database {settings.database_kind}"))
        fit = await _check_database(settings, findings)
    with _going_on(findings, "key"):
        if not settings.local:
            open_vault(settings)
        keyed = True
    if fit and keyed:
        await _check_the_rest(settings, findings)
    await _check_services(settings, services, findings)


def _check_names(environment: Mapping[str, str], findings: Findings) -> None:
    for name, nearest in misspelt(environment):
        remedy = f"did you mean {nearest}?" if nearest else "see docs/reference/settings.md"
        findings.add(warning(f"{name} is set, and there is no such setting", remedy))


@contextmanager
def _going_on(findings: Findings, part: str) -> Iterator[None]:
    """What ends the look at one part is a finding like others, and the next part is looked at all the same."""
    try:
        yield
    except SettingsError as error:
        findings.add(wrong(str(error), "mend it in the environment or in waypost.toml"))
    except WrongSchema as error:
        told, _, remedy = str(error).rpartition(": ")
        findings.add(wrong(f"{part}: {told}", remedy))
    except LedgerError as error:
        findings.add(wrong(f"{part}: {error}", "check WAYPOST_DATABASE_URL, and that the database is running"))
    except OSError as error:
        told = f"{part}: {error.filename or 'a file'}: {error.strerror or error}"
        findings.add(wrong(told, "give it to the user that runs the server (chown)"))


async def _check_database(settings: Settings, findings: Findings) -> bool:
    """Whether the Ledger can be opened without changing it."""
    path = sqlite_path(settings.database_url)
    if path is None:
        from waypost.adapters.postgres.facts import facts  # noqa: PLC0415  # only where there is one

        found = await facts(settings.database_url)
        findings.extend(judge.of_postgres(found, settings.database_readers))
        return not found.missing and not found.copying and not found.is_moved
    if not path.exists():
        remedy = "name another in WAYPOST_DATABASE_URL, or start the server"
        findings.add(wrong(f"there is no database at {path}", remedy))
        return False
    seen = await asyncio.to_thread(sqlite.facts, path)
    findings.extend(judge.of_sqlite(seen))
    findings.add(judge.of_disk(await asyncio.to_thread(sqlite.place, path)))
    return not seen.missing and not seen.is_a_copy and not seen.is_moved and not seen.damage


async def _check_the_rest(settings: Settings, findings: Findings) -> None:
    with _going_on(findings, "files"):
        await asyncio.to_thread(_check_files, settings, findings)
    with _going_on(findings, "database"):
        ports = await _opened(settings)
        try:
            await _check_with(ports, settings, findings)
        finally:
            await ports.close()


async def _opened(settings: Settings) -> Ports:
    """With a Log that may be of no use; what is wrong with it, and with Redis, is found by who knows them."""
    ports = await system_ports(replace(settings, redis_url="", log_url=""))
    with suppress(SettingsError):
        log = await open_log(settings.log_url, ports.ledger, to_look=True) if settings.log_url else None
        return dataclasses.replace(ports, log=log)
    return ports


def _bot_of(settings: Settings) -> str:
    """A server may have been started with others: only what this command was given is known."""
    named = settings.bot not in ("", "none")
    return f"bot: {settings.bot}, as these settings have it" if named else "bot: these settings name none"


async def _check_with(ports: Ports, settings: Settings, findings: Findings) -> None:
    with _going_on(findings, "bot"):
        seen = pictures(ports.ledger.files, ports.shelf, ports.clock)
        await asyncio.to_thread(make_bot, settings, ports.wire, seen)
        findings.add(good(_bot_of(settings)))
    with _going_on(findings, "database"):
        await _check_ledger(ports.ledger, findings)
        await _check_invariants(settings, ports, findings)
    if ports.log is not None or not settings.log_url:  # one with an unreadable address is not one that nobody named
        await _check_bodies(ports, settings, findings)
    with _going_on(findings, "numbers"):
        await _check_numbers(settings, ports, findings)
    with _going_on(findings, "mailboxes"):
        await _check_mailboxes(ports, findings)


async def _check_bodies(ports: Ports, settings: Settings, findings: Findings) -> None:
    with _going_on(findings, "log"):
        policies = PolicyBook(ports.ledger.policies, ports.clock, settings.tuning().defaults)
        findings.extend(await doctor_log.of_bodies(ports.ledger, ports.log, policies, ports.clock.now()))


def _check_files(settings: Settings, findings: Findings) -> None:
    path, media = sqlite_path(settings.database_url), media_folder(settings)
    private = [file for file in (path, path.with_name(LOCAL_KEY) if path else None, FILE) if file and file.exists()]
    for file in private:
        findings.extend(list(judge.of_file(sqlite.place(file))))
    if media.is_dir():
        findings.extend(list(judge.of_folder(sqlite.place(media))))
        findings.add(judge.room(sqlite.place(media)))


async def _check_ledger(ledger: Ledger, findings: Findings) -> None:
    orgs = await ledger.accounts.orgs()
    if orgs:
        findings.add(good(f"orgs: {len(orgs)}"))
    else:
        findings.add(wrong("there is no org yet", "waypost admin create-org NAME"))


async def _check_invariants(settings: Settings, ports: Ports, findings: Findings) -> None:
    """What the loss detector of the servers looks for every minute, looked for now among the newest messages."""
    newest = await ports.ledger.detector.newest()
    wanted = detect.wanted(settings.tuning(), ports.clock.now(), newest - detect.PAGE, newest)
    found = list(await ports.ledger.detector.look(wanted))
    talks = await ports.ledger.detector.newest_conversation()
    latest = detect.wanted_talks(ports.clock.now(), talks - detect.TALKS, talks)
    found += await ports.ledger.detector.talks(latest)
    found += (await ports.ledger.detector.feeds("", detect.FEEDS, detect.LATEST))[0]
    for finding in found:
        remedy = "see docs/explanation/proof.md, and report it with `waypost why` of the message"
        findings.add(wrong(f"invariant {finding.invariant.value}: {finding.subject}", remedy))
    if not found:
        count = min(newest, detect.PAGE)
        findings.add(good(f"invariants: none is violated among the newest {count} messages"))


async def _check_numbers(settings: Settings, ports: Ports, findings: Findings) -> None:
    book = NumberBook(ports.ledger.accounts, ports.vault, ports.clock, settings.graph_url)
    opened = list(await book.all())
    for number in await ports.ledger.accounts.numbers():
        if book.is_sealed(number.id):
            findings.add(_trial(number.id, number_trial.sealed()))
    provider = CloudExtras(ports.wire, timeout=5)
    for connected in opened:
        answer = await provider.look_up(connected.sender)
        findings.add(_trial(connected.number.id, verdict(answer, connected.number, connected.graph_url)))
    findings.extend(await check_webhook(settings, opened, ports))


def _trial(number: NumberId, told: Verdict) -> Finding:
    text = f"number {number}: {told.said}"
    return good(text) if told.state is Trial.WORKS else wrong(text, told.remedy or "")


async def _check_mailboxes(ports: Ports, findings: Findings) -> None:
    """Each is greeted and logged into; nothing is sent."""
    mailer = ports.mailer or SmtpMailer(catalogues()["smtp"], timeout=10)
    book = MailBook(ports.ledger.mailboxes, ports.vault, ports.clock)
    try:
        for account in await ports.ledger.mailboxes.of():
            name = f"mailbox {account.address} ({account.id})"
            connected = await book.find(account.id)
            if connected is None or connected.mailbox is None:
                remedy = "set the WAYPOST_SECRET_KEY it was sealed with"
                findings.add(wrong(f"{name}: its password cannot be opened", remedy))
            elif trouble := await mailer.greet(connected.mailbox):
                remedy = f"check its server, user name and password: `waypost admin change-mailbox {account.org_id} …`"
                findings.add(wrong(f"{name}: {trouble}", remedy))
            else:
                findings.add(good(f"{name}: {account.host} lets us in"))
    finally:
        await mailer.close()


_SERVICES = {"redis_url": "waypost.runtime.doctor_redis", "log_url": "waypost.runtime.doctor_log"}
"""By the setting that names the service: where its `findings` are."""


async def _check_services(settings: Settings, given: Mapping[str, Inspect], findings: Findings) -> None:
    """Each by whoever knows it; what it needs is only loaded where a service is named."""
    for setting, module in _SERVICES.items():
        url: str = getattr(settings, setting)
        if not url:
            continue
        inspect: Inspect = given.get(setting) or importlib.import_module(module).findings
        for is_well, text, remedy in await inspect(url):
            findings.add(good(text) if is_well else (warning if is_well is None else wrong)(text, remedy))
