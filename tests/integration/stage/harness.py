"""A server, the sandbox and their callers in one process: real Ledgers, a network in memory, time set by the test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from tests.integration.stage.database import Database
from tests.integration.stage.network import SANDBOX, AudibleHints, Network, SetDice
from tests.integration.stage.webhooks import DOOR, PHONE, Account
from waypost.adapters.local.clock import SystemClock, SystemIds
from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.vault import AesVault
from waypost.adapters.redis.connection import RedisConnection
from waypost.flow.operations import maintenance
from waypost.flow.world import World
from waypost.model.time import Instant, Span, seconds, to_datetime
from waypost.ports.conversations.bot import Bot
from waypost.ports.history.history import History
from waypost.ports.platform.clock import LedgerTime
from waypost.ports.platform.hints import OUTBOX, about_message
from waypost.ports.platform.http_transport import HttpReply, HttpTransport
from waypost.ports.sending.mailer import Mailer
from waypost.runtime.process.serve import build_server
from waypost.runtime.process.server import ALL_ROLES, ProcessRole, Server
from waypost.runtime.settings.definitions import Settings
from waypost.runtime.wiring.wiring import Ports
from waypost.sandbox import Sandbox, SandboxTiming
from waypost.sandbox.webhooks.sender import signature
from waypost_testing.clock import ManualClock

T = TypeVar("T")

MESSAGES = "/api/v1/outbound/messages"
ON_SQLITE = pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
"""For tests that do not involve a database."""
DEADLINE = 20.0
HELLO: dict[str, Any] = {"channel": "WHATSAPP", "to": PHONE, "payloadJson": {"text": "hello"}}

SWIFT = SandboxTiming(
    sent_after=seconds(0), delivered_after=seconds(0), retry_first=seconds(0.02), retry_most=seconds(0.1)
)


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


@dataclass
class Stage:
    """Everything a test needs, by name."""

    database: Database
    clock: LedgerTime
    network: Network
    sandbox: Sandbox
    settings: Settings
    hints: AudibleHints
    dice: SetDice
    acme: Account
    globex: Account
    provider_wire: HttpTransport
    mailer: Mailer | None = None
    bot: Bot | None = None
    log: History | None = None
    servers: list[Server] = field(default_factory=list)
    bugs: list[dict[str, Any]] = field(default_factory=list)
    """Bugs that only the log would show. A test that expects some removes them."""

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
        self,
        roles: frozenset[ProcessRole] = ALL_ROLES,
        hints: ProcessHints | None = None,
        redis: RedisConnection | None = None,
        **changed: Any,
    ) -> Server:
        """Another process, as far as the Ledger can tell."""
        ports = Ports(
            clock=self.clock,
            random=self.dice,
            ids=SystemIds(),
            ledger=await self.database.ledger(self.clock.now),
            hints=hints or self.hints,
            wire=self.provider_wire,
            vault=AesVault(self.settings.secret_key),
            mailer=self.mailer,
            bot=self.bot,
            redis=redis,
            history=self.log,
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
        """As acme's admin, unless another key is given; an empty key sends none."""
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
        """Post a message; `from_` is `from`, which is a keyword in Python."""
        named = {name.rstrip("_"): value for name, value in changed.items()}
        answer = await self.call("POST", path, {**HELLO, **named})
        assert answer.status == expect, answer
        message: dict[str, Any] = answer.json
        return message

    def moment(self, span: Span) -> str:
        """This far from now, as JSON."""
        return to_datetime(Instant(self.clock.now() + span)).isoformat().replace("+00:00", "Z")

    async def sent_silently(self, **changed: Any) -> tuple[int, str]:
        """A message that the provider accepted and of which no status came; its id and its wamid."""
        await self.fault(statuses="never", times=1)
        posted = await self.send(**changed)
        return posted["id"], (await self.becomes(posted["id"], "SENT"))["providerMessageId"]

    async def unsure(self, **changed: Any) -> int:
        """A message whose attempt ended without an answer."""
        posted = await self.send(**changed)
        found = await self.becomes(posted["id"], "SENDING", errorCode="UNSURE")
        assert found["nextRetryAt"] is None
        return int(posted["id"])

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

    async def _control(self, method: str, path: str, json: object = None) -> HttpReply:
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
        """A webhook POST, signed by acme by default; bytes are sent unchanged."""
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

    async def customer_messages(self, account: Account | None = None) -> list[tuple[str, str]]:
        """What customers wrote to this account: wamid and message, one conversation after the other."""
        org = (account or self.acme).org
        found = await self.database.run(
            "SELECT e.wamid, e.body FROM entry e JOIN conversation c ON c.id = e.conversation_id "
            f"WHERE c.org_id = '{org}' AND e.sender = 'contact' ORDER BY c.id, e.position"
        )
        return [(wamid, body) for wamid, body in found]

    # Waiting

    async def without_pace(self) -> None:
        """A stopped clock never reaches a message's pace: the numbers connected so far have no pace."""
        await self.database.run("DELETE FROM permit WHERE name LIKE 'pace:%'")

    async def eventually(self, condition: Callable[[], Awaitable[T]], deadline: float = DEADLINE) -> T:
        """The condition's first truthy value; checked after every event."""
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

    async def answers_after(self, waiting: asyncio.Future[Answer], span: Span) -> bool:
        """Whether a waiting caller has its answer once this time has passed and it was woken."""
        await self.get(MESSAGES)  # by now it has checked for the first time
        self.manual.advance(span)
        for _ in range(5):
            self.hints.give([about_message(message["id"]) for message in await self.get(MESSAGES)])
            done, _ = await asyncio.wait([waiting], timeout=0.05)
            if done:
                return True
        return False

    # Time

    def wake(self) -> None:
        self.hints.give([OUTBOX])

    async def pass_time(self, span: Span) -> None:
        """A time in which no server was running: the uptime ticks are missing."""
        self.manual.advance(span)
        await self.database.put_back_last_tick(span)
        self.wake()

    async def pass_time_with_open_door(self, span: Span) -> None:
        """A time in which webhooks could be received."""
        step = Span(2 * self.world.tuning.webhook_tick)
        await maintenance.tick_webhook_uptime(self.world)
        for _ in range(-(-span // step)):
            self.manual.advance(step)
            await self.database.put_back_last_tick(step)
            await maintenance.tick_webhook_uptime(self.world)

    async def grow_stale(self) -> None:
        """Let the whole stale limit pass while webhooks are received, and the search for stale attempts run."""
        tuning = self.world.tuning
        await self.pass_time_with_open_door(Span(tuning.stale + tuning.webhook_gap + tuning.webhook_tick))
        await maintenance.settle_unsure(self.world)

    async def still_unsure(self, message_id: int) -> bool:
        """This message has not been given up, although the search has run."""
        await maintenance.settle_unsure(self.world)
        message, kinds = await self.message(message_id), await self.kinds(message_id)
        return message["status"] == "SENDING" and not {"requeued", "parked"} & set(kinds)

    async def close(self) -> None:
        self.network.late.set()
        await self.sandbox.close()
        for server in self.servers:
            await server.stop(seconds(0.2))
        await self.network.close()
        await self.database.close()


def live_clock() -> LedgerTime:
    return SystemClock()
