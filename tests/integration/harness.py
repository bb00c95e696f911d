"""A server, the sandbox and their callers in one process: real Ledgers, a network in memory, time as the test says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw
import asyncpg
import msgspec
from msgspec.structs import replace

from waypost.adapters.local.clock import SystemClock, SystemIds
from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.vault import AesVault
from waypost.adapters.postgres.engine import PostgresEngine
from waypost.adapters.sql.ledger import SqlLedger
from waypost.adapters.sqlite.engine import ThreadedEngine
from waypost.flow import admit, tend
from waypost.flow.world import World
from waypost.model.ids import OrgId
from waypost.model.time import Instant, Span, as_seconds, seconds
from waypost.ports.clock import Clock
from waypost.ports.hints import OUTBOX
from waypost.ports.wire import Cut, Refused, Reply, TimedOut, Wire
from waypost.runtime.serve import build_server
from waypost.runtime.server import ALL_ROLES, Role, Server
from waypost.runtime.settings import Settings
from waypost.runtime.wiring import Ports, catalogues
from waypost.sandbox import Sandbox, SandboxNumber, Timing
from waypost.sandbox.webhooks import signature
from waypost.testing.clock import ManualClock
from waypost.testing.simulation.asgi import AsgiApp, Call, Request, scope_of

T = TypeVar("T")

WAYPOST = "http://waypost.test"
SANDBOX = "http://sandbox.test"
DOOR = "/api/v1/webhooks/whatsapp/inbound"
MESSAGES = "/api/v1/outbound/messages"
PHONE = "+16505551234"
DEADLINE = 20.0
HELLO: dict[str, Any] = {"channel": "WHATSAPP", "to": PHONE, "payloadJson": {"text": "hello"}}

SWIFT = Timing(sent_after=seconds(0), delivered_after=seconds(0), retry_first=seconds(0.02), retry_most=seconds(0.1))


class Answer(msgspec.Struct):
    """What a caller got back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str | None:
        """Of a problem."""
        told: str | None = self.json.get("code")
        return told


class Network:
    """Hosts in memory. A caller who gives up leaves the other side working, as on a real network."""

    def __init__(self) -> None:
        self.hosts: dict[str, AsgiApp] = {}
        self.unreachable: set[str] = set()
        self.lost_on_the_way: set[str] = set()
        self.late = asyncio.Event()
        self.late.set()
        """Cleared: the provider's replies are held back after it has acted, until it is set again."""
        self._under_way: set[asyncio.Task[None]] = set()

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", timeout: float
    ) -> Reply:
        request = Request(method, url, headers, body)
        if request.host in self.unreachable or request.host not in self.hosts:
            raise Refused("no connection could be made")
        answered: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        if request.host not in self.lost_on_the_way:
            self._start(request, answered)
        try:
            async with asyncio.timeout(timeout):
                reply = await answered
                if url.startswith(f"{SANDBOX}/v"):
                    await self.late.wait()
        except TimeoutError:
            raise TimedOut(f"no answer within {timeout:g} s") from None
        if reply is None:
            raise Cut("the connection broke before a whole answer came")
        return reply

    def _start(self, request: Request, answered: asyncio.Future[Reply | None]) -> None:
        call = Call(scope_of(request, "test", {}), request.body, lambda reply: _tell(answered, reply))
        task = asyncio.ensure_future(call.run(self.hosts[request.host]))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)


def _tell(answered: asyncio.Future[Reply | None], reply: Reply | None) -> None:
    if not answered.done():
        answered.set_result(reply)


class SharedTime:
    """The sandbox's clock: the test's own time, but its pauses are real and short."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> Instant:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, span: Span) -> None:
        await asyncio.sleep(as_seconds(span))


class SetDice:
    """Shows what the test set."""

    shows = 0.0

    def unit(self) -> float:
        return self.shows


class AudibleHints(ProcessHints):
    """Tells the test, too, that something has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.something = asyncio.Event()

    def hear(self, topics: Iterable[str]) -> None:
        self.something.set()
        super().hear(topics)


@dataclass
class Database:
    """A migrated database of a test's own."""

    kind: Literal["sqlite", "postgres"]
    url: str
    _connection: Any = None

    @property
    def path(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))

    async def ledger(self, now: Callable[[], Instant]) -> SqlLedger:
        if self.kind == "postgres":
            return SqlLedger(await PostgresEngine.open(self.url))
        return SqlLedger(await asyncio.to_thread(ThreadedEngine, self.path, now))

    async def put_back_last_tick(self, span: Span) -> None:
        """PostgreSQL's clock cannot be set: an hour that passes is a last tick that was an hour earlier."""
        if self.kind == "postgres":
            await self.run(f"UPDATE door SET ticked_at = ticked_at - {int(span)}")

    async def refuse_writes(self, table: str, verb: str = "INSERT") -> None:
        """Break a constraint, as seed 000 has it: this table takes no such write until `take_writes`."""
        if self.kind == "sqlite":
            body = "BEGIN SELECT RAISE(ABORT, 'broken by the test'); END"
            await self.run(f"CREATE TRIGGER broken BEFORE {verb} ON {table} {body}")
            return
        await self.run(
            "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE check_violation USING MESSAGE = 'broken by the test'; END $$"
        )
        await self.run(f"CREATE TRIGGER broken BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION broken()")

    async def take_writes(self, table: str) -> None:
        if self.kind == "sqlite":
            await self.run("DROP TRIGGER broken")
        else:
            await self.run(f"DROP TRIGGER broken ON {table}")
            await self.run("DROP FUNCTION broken")

    async def run(self, sql: str) -> list[tuple[Any, ...]]:
        """A look past the Ledger, or a hand on it."""
        if self.kind == "sqlite":
            return await asyncio.to_thread(self._run_sqlite, sql)
        if self._connection is None:
            self._connection = await asyncpg.connect(self.url)
        return [tuple(row) for row in await self._connection.fetch(sql)]

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    def _run_sqlite(self, sql: str) -> list[tuple[Any, ...]]:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(5000)
        try:
            return list(connection.execute(sql))
        finally:
            connection.close()


@dataclass
class Account:
    """An org with its number, as its owner knows it."""

    org: str
    key: str
    number: SandboxNumber

    @property
    def as_connected(self) -> dict[str, Any]:
        """The number as the API takes it."""
        names = ("phone_number_id", "waba_id", "token", "app_secret", "verify_token")
        return {name: getattr(self.number, name) for name in names}


def a_number(phone_number_id: str, **more: Any) -> SandboxNumber:
    plain = SandboxNumber(
        phone_number_id=phone_number_id,
        waba_id=f"waba-{phone_number_id}",
        token=f"EAA-token-{phone_number_id}",
        app_secret=f"app-secret-{phone_number_id}",
        verify_token=f"verify-{phone_number_id}",
        webhook_url=WAYPOST + DOOR,
    )
    return replace(plain, **more)


@dataclass
class Stage:
    """Everything a test needs, by name."""

    database: Database
    clock: Clock
    network: Network
    sandbox: Sandbox
    settings: Settings
    hints: AudibleHints
    dice: SetDice
    acme: Account
    globex: Account
    provider_wire: Wire
    servers: list[Server] = field(default_factory=list)
    bugs: list[dict[str, Any]] = field(default_factory=list)
    """What only the log would tell. A test that expects some takes them out."""

    @property
    def server(self) -> Server:
        return self.servers[0]

    @property
    def world(self) -> World:
        return self.server.world

    @property
    def manual(self) -> ManualClock:
        assert isinstance(self.clock, ManualClock)
        return self.clock

    async def add_server(
        self, roles: frozenset[Role] = ALL_ROLES, hints: ProcessHints | None = None, **changed: Any
    ) -> Server:
        """Another process, as far as the Ledger can tell."""
        ports = Ports(
            clock=self.clock,
            dice=self.dice,
            ids=SystemIds(),
            ledger=await self.database.ledger(self.clock.now),
            hints=hints or self.hints,
            wire=self.provider_wire,
            vault=AesVault(self.settings.secret_key),
        )
        server = build_server(ports, replace(self.settings, **changed), roles)
        self.servers.append(server)
        await server.start()
        return server

    # Calls

    async def call(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        key: str | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        host: str = "waypost.test",
    ) -> Answer:
        """As acme's admin, unless another key is given; an empty key is none."""
        sent = {"authorization": f"Bearer {self.acme.key if key is None else key}"} if key != "" else {}
        content = body if body is not None else b"" if json is None else msgspec.json.encode(json)
        if content:
            sent["content-type"] = "application/json"
        reply = await self.network.request(
            method, f"http://{host}{path}", headers={**sent, **(headers or {})}, body=content, timeout=60
        )
        return Answer(reply.status, reply.headers, reply.body)

    async def get(self, path: str, key: str | None = None) -> Any:
        answer = await self.call("GET", path, key=key)
        assert answer.status == 200, answer
        return answer.json

    async def send(self, expect: int = 201, *, path: str = MESSAGES, **changed: Any) -> dict[str, Any]:
        """Post a message; `from_` is `from`, which Python keeps for itself."""
        named = {name.rstrip("_"): value for name, value in changed.items()}
        answer = await self.call("POST", path, {**HELLO, **named})
        assert answer.status == expect, answer
        message: dict[str, Any] = answer.json
        return message

    async def message(self, message_id: int) -> dict[str, Any]:
        found: dict[str, Any] = await self.get(f"{MESSAGES}/{message_id}")
        return found

    async def attempts(self, message_id: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.get(f"{MESSAGES}/{message_id}/attempts")
        return found

    async def kinds(self, message_id: int) -> list[str]:
        """The message's timeline, one word each."""
        return [event["kind"] for event in (await self.get(f"{MESSAGES}/{message_id}/timeline"))["events"]]

    async def metric(self, name: str) -> float:
        """One line of /metrics, by its whole name with labels; 0 where there is none yet."""
        text = (await self.call("GET", "/metrics")).body.decode()
        values = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(name + " ")]
        return float(values[0]) if values else 0.0

    # The sandbox

    async def fault(self, **fault: Any) -> None:
        reply = await self._control("POST", "faults", fault)
        assert reply.status == 201, reply

    async def reads(self, phone: str = PHONE) -> None:
        """The phone reads everything, once everything that is under way has reached it."""
        await self.sandbox.settled()
        await self._control("POST", f"phones/{phone}/read")

    def calls(self, to: str = PHONE) -> list[dict[str, Any]]:
        """What the provider received for this phone, and what it made of it."""
        listed = self.sandbox.calls.listed(to)
        return [{"wamid": call.wamid, "status": call.http_status, **msgspec.json.decode(call.body)} for call in listed]

    def accepted(self, to: str = PHONE) -> list[str]:
        """The wamids that the provider gave for this phone."""
        return [call["wamid"] for call in self.calls(to) if call["wamid"]]

    async def _control(self, method: str, path: str, json: object = None) -> Reply:
        content = b"" if json is None else msgspec.json.encode(json)
        return await self.network.request(
            method, f"{SANDBOX}/_sandbox/{path}", headers={}, body=content, timeout=DEADLINE
        )

    # The provider's webhooks, by hand

    async def post(
        self,
        body: object,
        account: Account | None = None,
        *,
        signed: str | None = None,
        headers: Mapping[str, str] | None = None,
        host: str = "waypost.test",
    ) -> Answer:
        """A webhook POST, signed by acme unless told otherwise; bytes go out as they are."""
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        secret = (account or self.acme).number.app_secret
        marks = {"x-hub-signature-256": signature(secret, content) if signed is None else signed}
        if signed == "":
            marks = {}
        return await self.call("POST", DOOR, key="", body=content, headers={**marks, **(headers or {})}, host=host)

    async def journal(self, account: Account | None = None) -> list[dict[str, Any]]:
        """What webhooks brought for this account, oldest first."""
        found: list[dict[str, Any]] = await self.get("/api/v1/webhook-journal?limit=1000", (account or self.acme).key)
        return found[::-1]

    # Waiting

    async def eventually(self, condition: Callable[[], Awaitable[T]], deadline: float = DEADLINE) -> T:
        """The condition's first truthy value; looked at whenever something has happened."""
        gives_up = time.monotonic() + deadline
        while True:
            self.hints.something.clear()
            found = await condition()
            if found:
                return found
            if time.monotonic() > gives_up:
                raise AssertionError(f"not within {deadline:g} s; last seen: {found!r}; bugs: {self.bugs}")
            await self._something(0.05)

    async def _something(self, at_most: float) -> None:
        try:
            async with asyncio.timeout(at_most):
                await self.hints.something.wait()
        except TimeoutError:
            pass

    async def becomes(self, message_id: int, status: str, **more: Any) -> dict[str, Any]:
        """The message, once it has this status (and these fields; `...` is anything but null)."""
        wanted = {"status": status, **more}

        async def look() -> dict[str, Any] | None:
            message = await self.message(message_id)
            fits = all(
                message[name] is not None if value is ... else message[name] == value for name, value in wanted.items()
            )
            return message if fits else None

        try:
            found = await self.eventually(look)
        except AssertionError as late:
            raise AssertionError(f"{wanted} never came: {await self.message(message_id)}, {late}") from None
        assert found
        return found

    async def becomes_first(self, status: str) -> dict[str, Any]:
        """The newest message, once there is one with this status."""

        async def look() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = await self.get(f"{MESSAGES}?status={status}")
            return found

        return (await self.eventually(look))[0]

    # Time

    def wake(self) -> None:
        self.hints.give([OUTBOX])

    async def pass_time(self, span: Span) -> None:
        """A stretch in which nothing of ours was running: the door's ticks are missing."""
        self.manual.advance(span)
        await self.database.put_back_last_tick(span)
        self.wake()

    async def pass_time_with_open_door(self, span: Span) -> None:
        """A stretch in which webhooks could reach us."""
        step = Span(2 * self.world.tuning.door_tick)
        await tend.keep_door(self.world)
        for _ in range(-(-span // step)):
            self.manual.advance(step)
            await self.database.put_back_last_tick(step)
            await tend.keep_door(self.world)

    async def grow_stale(self) -> None:
        """The whole stale limit passes, with the door open, and whoever looks for stale tries has looked."""
        tuning = self.world.tuning
        await self.pass_time_with_open_door(Span(tuning.stale + tuning.door_gap + tuning.door_tick))
        await tend.settle_unsure(self.world)

    async def still_unsure(self, message_id: int) -> bool:
        """Nobody has given up waiting for this message, now that somebody has looked."""
        await tend.settle_unsure(self.world)
        message, kinds = await self.message(message_id), await self.kinds(message_id)
        return message["status"] == "SENDING" and not {"requeued", "parked"} & set(kinds)

    async def close(self) -> None:
        self.network.late.set()
        await self.sandbox.close()
        for server in self.servers:
            await server.stop(seconds(0.2))
        await self.network.close()
        await self.database.close()


def status(wamid: str, kind: str, **more: Any) -> dict[str, Any]:
    """A status as Meta words it; `at` in seconds."""
    return {"id": wamid, "status": kind, "timestamp": "1760000000", "recipient_id": PHONE.lstrip("+"), **more}


def a_text(wamid: str, body: str = "hi", **more: Any) -> dict[str, Any]:
    """A customer's message as Meta words it."""
    return {
        "from": PHONE.lstrip("+"),
        "id": wamid,
        "timestamp": "1760000000",
        "type": "text",
        "text": {"body": body},
    } | more


def change(account: Account, **value: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": "15550783881", "phone_number_id": account.number.phone_number_id}
    return {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}


def envelope(*entries: tuple[Account, list[dict[str, Any]]]) -> dict[str, Any]:
    listed = [{"id": account.number.waba_id, "changes": changes} for account, changes in entries]
    return {"object": "whatsapp_business_account", "entry": listed}


def told(account: Account, *statuses: Any) -> dict[str, Any]:
    """A POST with these statuses and nothing else."""
    return envelope((account, [change(account, statuses=list(statuses))]))


async def build_stage(
    database: Database,
    *,
    clock: Clock | None = None,
    timing: Timing = SWIFT,
    wire: Wire | None = None,
    roles: frozenset[Role] = ALL_ROLES,
    **settings: Any,
) -> Stage:
    await asyncio.to_thread(catalogues)  # reads files, once
    time_ = clock or ManualClock()
    network, dice, hints = Network(), SetDice(), AudibleHints()
    numbers = [a_number("1001"), a_number("2001")]
    sandbox = Sandbox(SharedTime(time_), dice, SystemIds(), network, numbers, SANDBOX, timing=timing)
    chosen = {
        "outbound_jitter": 0.0,
        "outbound_stale_minutes": 2.0,
        "outbound_worker_poll_interval_ms": 1000,
        "graph_timeout_sec": 5.0,
        **settings,
    }
    stage = Stage(
        database=database,
        clock=time_,
        network=network,
        sandbox=sandbox,
        settings=Settings(database_url=database.url, secret_key="for tests", graph_url=f"{SANDBOX}/v25.0", **chosen),
        hints=hints,
        dice=dice,
        acme=Account("acme", "", numbers[0]),
        globex=Account("globex", "", numbers[1]),
        provider_wire=wire or network,
    )
    asyncio.get_running_loop().set_exception_handler(lambda _, context: stage.bugs.append(context))
    server = await stage.add_server(roles)
    network.hosts = {"sandbox.test": sandbox, "waypost.test": server.app}
    for account in (stage.acme, stage.globex):
        await settle_in(stage, account)
    return stage


async def settle_in(stage: Stage, account: Account) -> None:
    """The account's org, with its number connected."""
    issued = await admit.create_org(OrgId(account.org), stage.world)
    assert issued is not None
    account.key = issued.secret
    answer = await stage.call("POST", "/api/v1/numbers", account.as_connected, key=account.key)
    assert answer.status == 201, answer


@asynccontextmanager
async def open_stage(database: Database, **options: Any) -> AsyncIterator[Stage]:
    """A stage that is cleared away at the end; a bug that only the log would tell fails the test."""
    stage = await build_stage(database, **options)
    try:
        yield stage
    finally:
        await stage.close()
    if stage.bugs:
        raise AssertionError(f"bugs that only the log would tell: {stage.bugs}")


def live_clock() -> Clock:
    return SystemClock()
