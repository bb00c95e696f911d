"""The composition root: makes a server of ports, adapters and settings, without global state."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

import waypost
from waypost.adapters.local.blob_store import FolderBlobStore, MemoryBlobStore
from waypost.adapters.local.clock import SystemClock, SystemIds, SystemRandomSource
from waypost.adapters.local.ledger_clock import LedgerClock
from waypost.adapters.local.presence import LocalPresence
from waypost.adapters.local.vault import AesVault
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.store import SqliteStore
from waypost.adapters.whatsapp.extras import CloudExtras
from waypost.adapters.whatsapp.media import CloudMedia
from waypost.adapters.whatsapp.provider import CloudApi
from waypost.adapters.whatsapp.templates import CloudTemplates
from waypost.flow.conversations.bot_images import pictures
from waypost.flow.mailbox_cache import MailboxCache
from waypost.flow.number_cache import NumberCache
from waypost.flow.policy_cache import PolicyCache
from waypost.flow.template_cache import TemplateCache
from waypost.flow.world import Tuning, World
from waypost.model.ids import WorkerId
from waypost.model.time import as_seconds
from waypost.ports.conversations.bot import Bot
from waypost.ports.history.history import History
from waypost.ports.ledger import Ledger
from waypost.ports.live.presence import Presence
from waypost.ports.live.push import Pusher
from waypost.ports.platform.clock import Clock, Ids, LedgerTime, RandomSource
from waypost.ports.platform.failure import Unavailable
from waypost.ports.platform.hints import Hints
from waypost.ports.platform.http_transport import HttpTransport
from waypost.ports.platform.vault import Vault
from waypost.ports.receiving.media import BlobStore
from waypost.ports.sending.mailer import Mailer
from waypost.rules.limits.error_catalogue import ErrorCatalogue, parse
from waypost.runtime.settings.addresses import check_postgres
from waypost.runtime.settings.definitions import Settings, SettingsError
from waypost.runtime.telemetry.publish_counters import PublishedCounters
from waypost.runtime.telemetry.telemetry import Telemetry
from waypost.runtime.wiring import history_store
from waypost.runtime.wiring.bots import make_bot
from waypost.runtime.wiring.hint_transports import open_hints, redis_address
from waypost.runtime.wiring.metered_ledger import MeteredLedger

if TYPE_CHECKING:
    from waypost.adapters.redis.connection import RedisConnection  # the library is optional

_SQLITE = "sqlite:///"
SHORTEST_KEY = 32
LOCAL_KEY = "waypost.key"
DEMO_ACCOUNT = "demo.json"
_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The adapters of a server; a simulation has its own."""

    clock: LedgerTime
    random: RandomSource
    ids: Ids
    ledger: Ledger
    hints: Hints
    wire: HttpTransport
    vault: Vault
    history: History | None = None
    """None: the Ledger keeps the history."""
    mailer: Mailer | None = None
    """None: SMTP with the system's certificates."""
    bot: Bot | None = None
    pusher: Pusher | None = None
    blob_store: BlobStore = field(default_factory=MemoryBlobStore)
    redis: RedisConnection | None = None
    """The connection to other machines; None: there are none, or they poll."""

    async def close(self) -> None:
        """For a command that built no server."""
        if self.history is not None:
            await self.history.close()
        await self.ledger.close()


CATALOGUES = ("meta", "seed", "smtp")


@cache
def catalogues() -> Mapping[str, ErrorCatalogue]:
    folder = files("waypost.rules.limits").joinpath("data")
    return {name: parse(name, folder.joinpath(f"{name}_error_codes.csv").read_text()) for name in CATALOGUES}


class ProcessNames(NamedTuple):
    worker: str = ""
    """Empty: a new one."""
    listener: str = ""
    """Empty: the worker's."""
    predecessors: tuple[WorkerId, ...] = ()


NEW_NAMES = ProcessNames()


def build_world(
    ports: Ports,
    tuning: Tuning,
    telemetry: Telemetry,
    *,
    graph_url: str,
    graph_timeout: float,
    smtp_timeout: float = 30.0,
    names: ProcessNames = NEW_NAMES,
) -> World:
    worker = names.worker or ports.ids.token(9)
    longest = as_seconds(tuning.stale) / 2  # seconds; a send ends before its message may be sent again
    presence, shown = _shared(ports, telemetry, worker)
    ledger = MeteredLedger(ports.ledger, telemetry, shown)
    return World(
        clock=ports.clock,
        random=ports.random,
        ids=ports.ids,
        ledger=ledger,
        hints=ports.hints,
        history=ports.history or ports.ledger.history,
        history_separate=ports.history is not None,
        presence=presence,
        provider=CloudApi(ports.wire, min(graph_timeout, longest)),
        numbers=NumberCache(ports.ledger.accounts, ports.vault, ports.clock, graph_url),
        policies=PolicyCache(ports.ledger.policies, ports.clock, tuning.defaults),
        templates=TemplateCache(ports.ledger.templates, CloudTemplates(ports.wire), ports.clock),
        extras=CloudExtras(ports.wire, graph_timeout),
        mailer=ports.mailer or SmtpMailer(catalogues()["smtp"], timeout=min(smtp_timeout, longest)),
        mailboxes=MailboxCache(ports.ledger.mailboxes, ports.vault, ports.clock),
        media=CloudMedia(ports.wire, graph_timeout),
        blob_store=ports.blob_store,
        vault=ports.vault,
        catalogues=catalogues(),
        meters=telemetry,
        tuning=tuning,
        worker=WorkerId(worker),
        listener=names.listener or worker,
        predecessors=names.predecessors,
        bot=ports.bot,
        pusher=ports.pusher,
        works=() if shown is None else (shown.run,),
    )


def _shared(ports: Ports, telemetry: Telemetry, worker: str) -> tuple[Presence, PublishedCounters | None]:
    """With Redis, other machines and systems see presence and the use of quotas."""
    local = LocalPresence(ports.hints, ports.clock)
    if ports.redis is None:
        return local, None
    from waypost.adapters.redis.counters import RedisCounters  # noqa: PLC0415  # only where it is used
    from waypost.adapters.redis.presence import RedisPresence  # noqa: PLC0415

    ports.redis.watch(telemetry)
    shown = PublishedCounters(ports.ledger, RedisCounters(ports.redis), ports.clock)
    return RedisPresence(local, ports.redis, worker), shown


def sqlite_path(url: str) -> Path | None:
    """The file of a sqlite:/// address; None for a postgresql:// one; refuses anything else."""
    if url.startswith(_POSTGRES):
        check_postgres(url)
        return None
    if not url.startswith(_SQLITE):
        raise SettingsError("WAYPOST_DATABASE_URL must start with sqlite:/// or postgresql://")
    path = Path(url.removeprefix(_SQLITE))
    if not path.name or path.is_dir():
        raise SettingsError("WAYPOST_DATABASE_URL has no file name: write sqlite:///data/waypost.db")
    return path


async def open_ledger(settings: Settings, clock: Clock) -> Ledger:
    """Migrates SQLite; refuses an old PostgreSQL schema."""
    path = sqlite_path(settings.database_url)
    if path is not None:
        migrate_sqlite(path)
        return SqlLedger(ThreadedEngine(path, clock.now))
    from waypost.adapters.postgres.engine import PostgresEngine  # noqa: PLC0415  # only where it is used
    from waypost.adapters.postgres.fast_paths import FAST_PATHS  # noqa: PLC0415

    engine = await PostgresEngine.open(settings.database_url, readers=settings.database_readers)
    return SqlLedger(engine, FAST_PATHS)


async def open_history(settings: Settings, ledger: Ledger, *, claims: bool) -> History | None:
    """The history store of the settings; None: the Ledger keeps the history."""
    if not settings.history_url:
        return None
    return await history_store.open_history_store(settings.history_url, ledger, claims=claims)


def migrate_sqlite(path: Path) -> list[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"the folder {path.parent} cannot be made: {error.strerror}") from error
    if not path.exists():
        path.touch(mode=0o600)  # it will hold private messages
    try:
        store = SqliteStore(path)
        try:
            return store.migrate()
        finally:
            store.close()
    except TransactionConflict as busy:
        raise Unavailable(f"another program holds {path}: {busy}") from busy


async def migrate(settings: Settings) -> list[str]:
    applied = await _migrate_ledger(settings)
    return applied + (await history_store.migrate_history(settings.history_url) if settings.history_url else [])


async def _migrate_ledger(settings: Settings) -> list[str]:
    path = sqlite_path(settings.database_url)
    if path is not None:
        return migrate_sqlite(path)
    from waypost.adapters.postgres.schema import migrate as migrate_postgres  # noqa: PLC0415  # only where it is used

    return await migrate_postgres(settings.database_url)


def with_demo_settings(settings: Settings) -> Settings:
    """For a database of the demo, a command runs in local mode, with the key beside it."""
    path = sqlite_path(settings.database_url)
    beside = [path.with_name(name) for name in (DEMO_ACCOUNT, LOCAL_KEY)] if path is not None else []
    made_by_it = bool(beside) and all(file.exists() for file in beside)
    return replace(settings, env="local") if made_by_it and not settings.secret_key else settings


def open_vault(settings: Settings) -> AesVault:
    """In production the key must be set; in local mode one is created and kept beside the database."""
    if settings.secret_key:
        _check_length(settings)
        return AesVault(settings.secret_key, settings.secret_key_old)
    if not settings.local:
        raise SettingsError(
            "WAYPOST_SECRET_KEY is not set: make one with `openssl rand -base64 32`, keep it safe, "
            "and set it (or set WAYPOST_ENV=local on a laptop)"
        )
    return AesVault(_local_key(_local_key_file(settings)))


def _local_key_file(settings: Settings) -> Path:
    path = sqlite_path(settings.database_url)
    return (path.parent if path else Path("data")) / LOCAL_KEY


def make_pusher(settings: Settings, transport: HttpTransport, clock: Clock) -> Pusher | None:
    """None without a contact, which push services require."""
    if not settings.push_contact:
        return None
    from waypost.adapters.webpush.pusher import WebPusher  # noqa: PLC0415  # only with push notifications

    return WebPusher(
        transport,
        clock,
        secret_key=settings.secret_key or _local_key(_local_key_file(settings)),
        former_key=settings.secret_key_old,
        contact=settings.push_contact,
        reach=settings.tuning().push_reach,
    )


def _check_length(settings: Settings) -> None:
    if not settings.local and len(settings.secret_key) < SHORTEST_KEY:
        raise SettingsError(
            f"WAYPOST_SECRET_KEY has {len(settings.secret_key)} characters, at least {SHORTEST_KEY} are needed: make "
            "one with `openssl rand -base64 32`, then run `waypost admin rotate-secret-key`"
        )


def _local_key(file: Path) -> str:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(32))
        with suppress(FileExistsError):
            file.hardlink_to(fresh)  # whole or not at all, and the first one stays
        fresh.unlink()
    key = file.read_text().strip()
    if not key:
        raise SettingsError(f"{file} is empty: restore its backup, or delete it and connect the numbers again")
    return key


class LazyVault:
    """Needs the key only when a secret is encrypted or decrypted, so that other commands work without one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def seal(self, secret: str, purpose: str) -> bytes:
        return open_vault(self._settings).seal(secret, purpose)

    def open(self, sealed: bytes, purpose: str) -> str:
        return open_vault(self._settings).open(sealed, purpose)

    def key_for(self, purpose: str) -> bytes:
        return open_vault(self._settings).key_for(purpose)


async def system_ports(
    settings: Settings, vault: Vault | None = None, *, answering: bool = False, serving: bool = False
) -> Ports:
    """The real adapters. Call inside the event loop that will use them. Only a server claims a history store that
    has no owner yet: a command that runs in the wrong folder must not."""
    machine = SystemClock()
    redis_address(settings)  # before anything is opened
    if vault is None and not settings.local:
        vault = open_vault(settings)
    ledger = await open_ledger(settings, machine)  # before a key is created beside it
    clock: LedgerTime = machine
    if sqlite_path(settings.database_url) is None:
        clock = await LedgerClock.measured(machine, ledger.time)
    transport, blob_store = ReqwestTransport(f"waypost/{waypost.__version__}"), FolderBlobStore(media_folder(settings))
    seen = pictures(ledger.files, blob_store, clock)
    hints, redis = open_hints(settings)
    return Ports(
        clock=clock,
        random=SystemRandomSource(),
        ids=SystemIds(),
        ledger=ledger,
        hints=hints,
        wire=transport,
        vault=vault or open_vault(settings),
        history=await open_history(settings, ledger, claims=serving),
        bot=await asyncio.to_thread(make_bot, settings, transport, seen) if answering else None,
        pusher=make_pusher(settings, transport, clock),
        blob_store=blob_store,
        redis=redis,
    )


def media_folder(settings: Settings) -> Path:
    """Beside the database, unless another folder is set."""
    if settings.media_dir:
        return Path(settings.media_dir)
    path = sqlite_path(settings.database_url)
    return (path.parent if path else Path("data")) / "media"
