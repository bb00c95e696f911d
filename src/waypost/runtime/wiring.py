"""The composition root: ports, adapters and settings become a server. Nothing here is global."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

import waypost
from waypost.adapters.local.clock import SystemClock, SystemDice, SystemIds
from waypost.adapters.local.shelf import FolderShelf, MemoryShelf
from waypost.adapters.local.vault import AesVault
from waypost.adapters.local.whereabouts import LocalWhereabouts
from waypost.adapters.reqwest.wire import ReqwestWire
from waypost.adapters.smtp.mailer import SmtpMailer
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.adapters.sqlite.store import Store
from waypost.adapters.whatsapp.extras import CloudExtras
from waypost.adapters.whatsapp.media import CloudMedia
from waypost.adapters.whatsapp.provider import CloudApi
from waypost.adapters.whatsapp.templates import CloudTemplates
from waypost.flow.mail_book import MailBook
from waypost.flow.numbers import NumberBook
from waypost.flow.pictures import pictures
from waypost.flow.policy_book import PolicyBook
from waypost.flow.template_book import TemplateBook
from waypost.flow.world import Tuning, World
from waypost.model.ids import WorkerId
from waypost.ports.bot import Bot
from waypost.ports.clock import Clock, Dice, Ids
from waypost.ports.failure import Unavailable
from waypost.ports.hints import Hints
from waypost.ports.ledger import Ledger
from waypost.ports.log import Log
from waypost.ports.mailer import Mailer
from waypost.ports.media import Shelf
from waypost.ports.push import Pusher
from waypost.ports.vault import Vault
from waypost.ports.whereabouts import Whereabouts
from waypost.ports.wire import Wire
from waypost.rules.catalogue import Catalogue, parse
from waypost.runtime import log_store
from waypost.runtime.addresses import check_postgres
from waypost.runtime.bots import make_bot
from waypost.runtime.metered_files import MeteredFiles
from waypost.runtime.metered_lanes import MeteredLanes
from waypost.runtime.reaching import open_hints, redis_address
from waypost.runtime.settings import Settings, SettingsError
from waypost.runtime.shown_counters import ShownCounters
from waypost.runtime.telemetry import MeteredJournal, MeteredOutbox, Telemetry

if TYPE_CHECKING:
    from waypost.adapters.redis.line import Line  # its library is there only where there is a Redis

_SQLITE = "sqlite:///"
SHORTEST_KEY = 32
LOCAL_KEY = "waypost.key"
DEMO_ACCOUNT = "demo.json"
_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True, kw_only=True)
class Ports:
    """What a server is made of; a simulation brings its own."""

    clock: Clock
    dice: Dice
    ids: Ids
    ledger: Ledger
    hints: Hints
    wire: Wire
    vault: Vault
    log: Log | None = None
    """None: the Ledger's own."""
    mailer: Mailer | None = None
    """None: by SMTP, trusting whom the system trusts."""
    bot: Bot | None = None
    pusher: Pusher | None = None
    shelf: Shelf = field(default_factory=MemoryShelf)
    redis: Line | None = None
    """What reaches other machines; None: there is no other, or they poll."""

    async def close(self) -> None:
        """Of a command that built no server."""
        if self.log is not None:
            await self.log.close()
        await self.ledger.close()


CATALOGUES = ("meta", "seed", "smtp")


@cache
def catalogues() -> Mapping[str, Catalogue]:
    folder = files("waypost.rules").joinpath("data")
    return {name: parse(name, folder.joinpath(f"{name}_error_codes.csv").read_text()) for name in CATALOGUES}


def build_world(
    ports: Ports,
    tuning: Tuning,
    telemetry: Telemetry,
    *,
    graph_url: str,
    graph_timeout: float,
    smtp_timeout: float = 30.0,
    worker: str = "",
    predecessors: Sequence[str] = (),
) -> World:
    worker = worker or ports.ids.token(9)
    whereabouts, shown = _shared(ports, telemetry, worker)
    ledger = _Metered(ports.ledger, telemetry, shown)
    return World(
        clock=ports.clock,
        dice=ports.dice,
        ids=ports.ids,
        ledger=ledger,
        hints=ports.hints,
        log=ports.log or ports.ledger.log,
        log_apart=ports.log is not None,
        whereabouts=whereabouts,
        provider=CloudApi(ports.wire, graph_timeout),
        numbers=NumberBook(ports.ledger.accounts, ports.vault, ports.clock, graph_url),
        policies=PolicyBook(ports.ledger.policies, ports.clock, tuning.defaults),
        templates=TemplateBook(ports.ledger.templates, CloudTemplates(ports.wire), ports.clock),
        extras=CloudExtras(ports.wire, graph_timeout),
        mailer=ports.mailer or SmtpMailer(catalogues()["smtp"], timeout=smtp_timeout),
        mailboxes=MailBook(ports.ledger.mailboxes, ports.vault, ports.clock),
        media=CloudMedia(ports.wire, graph_timeout),
        shelf=ports.shelf,
        vault=ports.vault,
        catalogues=catalogues(),
        meters=telemetry,
        tuning=tuning,
        worker=WorkerId(worker),
        predecessors=tuple(map(WorkerId, predecessors)),
        bot=ports.bot,
        pusher=ports.pusher,
        works=() if shown is None else (shown.run,),
    )


def _shared(ports: Ports, telemetry: Telemetry, worker: str) -> tuple[Whereabouts, ShownCounters | None]:
    """With Redis, other machines and other systems see who is here and what was drawn of quotas."""
    local = LocalWhereabouts(ports.hints, ports.clock)
    if ports.redis is None:
        return local, None
    from waypost.adapters.redis.counters import RedisCounters  # noqa: PLC0415  # only where there is one
    from waypost.adapters.redis.whereabouts import RedisWhereabouts  # noqa: PLC0415

    ports.redis.watch(telemetry)
    shown = ShownCounters(ports.ledger, RedisCounters(ports.redis), ports.clock)
    return RedisWhereabouts(local, ports.redis, worker), shown


class _Metered:
    """A Ledger whose outbox, journal, lanes and files are counted."""

    def __init__(self, ledger: Ledger, telemetry: Telemetry, shown: ShownCounters | None = None) -> None:
        drawn = shown or ledger
        self.outbox = MeteredOutbox(drawn.outbox, telemetry)
        self.journal = MeteredJournal(ledger.journal, telemetry)
        self.messages = ledger.messages
        self.accounts = ledger.accounts
        self.mailboxes = ledger.mailboxes
        self.failover = ledger.failover
        self.templates = ledger.templates
        self.door = ledger.door
        self.lookup = ledger.lookup
        self.detector = ledger.detector
        self.gates = drawn.gates
        self.quotas = drawn.quotas
        self.windows = ledger.windows
        self.dossiers = ledger.dossiers
        self.consents = ledger.consents
        self.audit = ledger.audit
        self.operating = ledger.operating
        self.policies = ledger.policies
        self.quick_replies = ledger.quick_replies
        self.money = ledger.money
        self.figures = ledger.figures
        self.files = MeteredFiles(ledger.files, telemetry)
        self.ping = ledger.ping
        self.close = ledger.close
        self._talk(ledger, telemetry)

    def _talk(self, ledger: Ledger, telemetry: Telemetry) -> None:
        self.lanes = MeteredLanes(ledger.lanes, telemetry)
        self.conversations = ledger.conversations
        self.feeds = ledger.feeds
        self.chats = ledger.chats
        self.log = ledger.log
        self.follows = ledger.follows
        self.behind = ledger.behind
        self.hand_over = ledger.hand_over
        self.search = ledger.search
        self.notices = ledger.notices


def sqlite_path(url: str) -> Path | None:
    """The file of a sqlite:/// address; None for a postgresql:// one; anything else is refused."""
    if url.startswith(_POSTGRES):
        check_postgres(url)
        return None
    if not url.startswith(_SQLITE):
        raise SettingsError("WAYPOST_DATABASE_URL must start with sqlite:/// or postgresql://")
    path = Path(url.removeprefix(_SQLITE))
    if not path.name or path.is_dir():
        raise SettingsError("WAYPOST_DATABASE_URL names no file: write sqlite:///data/waypost.db")
    return path


async def open_ledger(settings: Settings, clock: Clock) -> Ledger:
    """SQLite is brought up to date on the way; an old PostgreSQL schema is refused."""
    path = sqlite_path(settings.database_url)
    if path is not None:
        migrate_sqlite(path)
        return SqlLedger(ThreadedEngine(path, clock.now))
    from waypost.adapters.postgres.engine import PostgresEngine  # noqa: PLC0415  # only where there is one

    return SqlLedger(await PostgresEngine.open(settings.database_url, readers=settings.database_readers))


async def open_log(settings: Settings, ledger: Ledger, *, claims: bool) -> Log | None:
    """The Log that the settings name; None: the Ledger keeps it."""
    if not settings.log_url:
        return None
    return await log_store.open_log(settings.log_url, ledger, claims=claims)


def migrate_sqlite(path: Path) -> list[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"the folder {path.parent} cannot be made: {error.strerror}") from error
    if not path.exists():
        path.touch(mode=0o600)  # it will hold what people write to each other
    try:
        store = Store(path)
        try:
            return store.migrate()
        finally:
            store.close()
    except Conflict as busy:
        raise Unavailable(f"another program holds {path}: {busy}") from busy


async def migrate(settings: Settings) -> list[str]:
    applied = await _migrate_ledger(settings)
    return applied + (await log_store.migrate_log(settings.log_url) if settings.log_url else [])


async def _migrate_ledger(settings: Settings) -> list[str]:
    path = sqlite_path(settings.database_url)
    if path is not None:
        return migrate_sqlite(path)
    from waypost.adapters.postgres.schema import migrate as migrate_postgres  # noqa: PLC0415  # only where there is one

    return await migrate_postgres(settings.database_url)


def as_the_demo(settings: Settings) -> Settings:
    """A command on a database that the demo made works as the demo does: in local mode, with the key beside it."""
    path = sqlite_path(settings.database_url)
    beside = [path.with_name(name) for name in (DEMO_ACCOUNT, LOCAL_KEY)] if path is not None else []
    made_by_it = bool(beside) and all(file.exists() for file in beside)
    return replace(settings, env="local") if made_by_it and not settings.secret_key else settings


def open_vault(settings: Settings) -> AesVault:
    """In production the key must be given; in local mode one is made and kept beside the database."""
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


def make_pusher(settings: Settings, wire: Wire, clock: Clock) -> Pusher | None:
    """None where no contact is named: push services must know whom to write to when something is wrong."""
    if not settings.push_contact:
        return None
    from waypost.adapters.webpush.pusher import WebPusher  # noqa: PLC0415  # only where somebody is told

    return WebPusher(
        wire,
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
        raise SettingsError(f"{file} is empty: bring back its backup, or remove it and connect the numbers anew")
    return key


class LateVault:
    """Needs its key only when a secret is sealed or opened, so that a command that touches none needs no key."""

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
    """The real ones. Call inside the loop that will use them. Only a server takes a Log that is nobody's yet: a command
    that was typed in the wrong folder must not."""
    clock = SystemClock()
    redis_address(settings)  # before anything is opened
    if vault is None and not settings.local:
        vault = open_vault(settings)
    ledger = await open_ledger(settings, clock)  # before a key is made beside it
    wire, shelf = ReqwestWire(f"waypost/{waypost.__version__}"), FolderShelf(media_folder(settings))
    seen = pictures(ledger.files, shelf, clock)
    hints, line = open_hints(settings)
    return Ports(
        clock=clock,
        dice=SystemDice(),
        ids=SystemIds(),
        ledger=ledger,
        hints=hints,
        wire=wire,
        vault=vault or open_vault(settings),
        log=await open_log(settings, ledger, claims=serving),
        bot=await asyncio.to_thread(make_bot, settings, wire, seen) if answering else None,
        pusher=make_pusher(settings, wire, clock),
        shelf=shelf,
        redis=line,
    )


def media_folder(settings: Settings) -> Path:
    """Beside the database, unless another place is named."""
    if settings.media_dir:
        return Path(settings.media_dir)
    path = sqlite_path(settings.database_url)
    return (path.parent if path else Path("data")) / "media"
