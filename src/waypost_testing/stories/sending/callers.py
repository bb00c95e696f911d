"""The people and programs around the servers: they post, retry, poll, cancel, read, write, and one intrudes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.model.time import Instant, Span, hours, to_datetime
from waypost.ports.platform.http_transport import HttpReply, TransportError
from waypost_testing.simulation import START, Node, Simulation
from waypost_testing.stories.cluster import SERVERS
from waypost_testing.stories.record import (
    NumberSwitch,
    ObservedAttempt,
    ObservedMessage,
    Retried,
    SimulationRecord,
    WantedMessage,
)

MESSAGES = "/api/v1/outbound/messages"
ACCEPTED = (200, 201, 202)
TRY_LATER = (500, 503)
ENDED = ("DELIVERED", "FAILED", "CANCELLED")
WAITED_FOR = {
    "": (*ENDED, "QUEUED", "SENDING", "SENT"),
    "?wait=sent": (*ENDED, "SENT"),
    "?wait=delivered": ENDED,
}
PATIENCE = 12
"""Attempts of a caller who may give up."""
ENDLESS: Span = hours(12)
TEMPLATES = 0.4
"""The share of messages that may go outside the window."""
LONGEST_ECHO = 120_000_000
"""A request may still arrive, late or doubled, this long after it was sent."""


class ServersStuck(Exception):
    """The servers did not answer for longer than any storm lasts."""


@dataclass(frozen=True, kw_only=True)
class SimulatedOrg:
    """An org with its credentials."""

    name: str
    key: str
    number: str
    waba: str
    token: str
    app_secret: str


class ApiClient:
    """HTTP to any of the servers, as seen from one node."""

    def __init__(self, sim: Simulation, node: Node, record: SimulationRecord, rng: random.Random) -> None:
        self._transport = sim.network.transport(node)
        self._record = record
        self._rng = rng

    async def ask(
        self, org: SimulatedOrg, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> HttpReply | None:
        """One attempt at one server; None when no complete answer came."""
        url = f"http://{self._rng.choice(SERVERS)}{path}"
        sent = {"authorization": f"Bearer {org.key}", "content-type": "application/json", **(headers or {})}
        content = b"" if body is None else msgspec.json.encode(body)
        try:
            return await self._transport.request(method, url, headers=sent, body=content, timeout=35)
        except TransportError:
            return None

    async def post_raw(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpReply | None:
        url = f"http://{self._rng.choice(SERVERS)}{path}"
        try:
            return await self._transport.request("POST", url, headers=headers, body=body, timeout=35)
        except TransportError:
            return None

    async def insist(self, org: SimulatedOrg, method: str, path: str, body: object = None) -> HttpReply:
        """Repeat the request until a server answers it."""
        since = self._record.now()
        while self._record.now() - since < ENDLESS:
            reply = await self.ask(org, method, path, body)
            if reply is not None and reply.status not in TRY_LATER:
                return reply
            await asyncio.sleep(0.5 + self._rng.random())
        raise ServersStuck(f"{method} {path} found no answer for hours")

    async def show(self, org: SimulatedOrg, message_id: int) -> ObservedMessage | None:
        asked = self._record.now()
        reply = await self.ask(org, "GET", f"{MESSAGES}/{message_id}")
        if reply is None or reply.status != 200:
            self.expected(reply, *TRY_LATER)
            return None
        view = msgspec.json.decode(reply.body, type=ObservedMessage)
        self._record.add_view(org.name, asked, view)
        return view

    async def all(self, org: SimulatedOrg, *statuses: str) -> list[ObservedMessage]:
        """Every message of the org, or those in one of these statuses."""
        found: list[ObservedMessage] = []
        for chosen in [f"&status={status}" for status in statuses] or [""]:
            reply = await self.insist(org, "GET", f"{MESSAGES}?limit=1000{chosen}")
            found += msgspec.json.decode(reply.body, type=list[ObservedMessage])
        return found

    async def attempts(self, org: SimulatedOrg, message_id: int) -> list[ObservedAttempt]:
        reply = await self.insist(org, "GET", f"{MESSAGES}/{message_id}/attempts")
        return msgspec.json.decode(reply.body, type=list[ObservedAttempt])

    def expected(self, reply: HttpReply | None, *statuses: int) -> None:
        if reply is not None and reply.status not in statuses:
            self._record.surprises.append(f"HTTP {reply.status}: {reply.body[:200].decode('utf-8', 'replace')}")


class Workload:
    """Every caller of the servers during the storm; none begins anything new after `until`."""

    def __init__(self, sim: Simulation, orgs: list[SimulatedOrg], record: SimulationRecord, until: int) -> None:
        self.node = sim.node("callers")
        self.rng = sim.chance.stream("callers")
        self.client = ApiClient(sim, self.node, record, self.rng)
        self.orgs = orgs
        self.record = record
        self._until = until
        self._errands: list[asyncio.Task[None]] = []
        self._numbers = {org.name: 0 for org in orgs}

    # Start and finish

    def start(self, pace: float) -> None:
        for org in self.orgs:
            self.errand(self._post_now_and_then(org, pace))
            for stream in range(2):
                self.errand(self._post_in_order(org, stream, pace))
            self.errand(self._person(org))
            self.errand(self._operator(org))

    async def finish(self) -> None:
        """Return when every errand has ended."""
        while self._errands:
            errands, self._errands = self._errands, []
            await asyncio.gather(*errands)

    def errand(self, work: Coroutine[Any, Any, None]) -> None:
        self._errands.append(self.node.spawn(work))

    async def pause(self, mean: float) -> bool:
        """Let time pass; False when the storm is over."""
        left = (self._until - self.record.now()) / 1_000_000
        await asyncio.sleep(min(self.rng.expovariate(1 / mean), max(0.0, left)))
        return self.record.now() < self._until

    # Posting

    async def _post_now_and_then(self, org: SimulatedOrg, pace: float) -> None:
        while await self.pause(pace):
            wish = self._wish(org, to=phone(self.rng.randrange(4)))
            body = self._body(wish, ordered=False)
            self.errand(self._see_to(org, wish, body))

    async def _post_in_order(self, org: SimulatedOrg, stream: int, pace: float) -> None:
        """One burst at a time; each message only after the one before was acknowledged, however long that takes."""
        name, place = f"{org.name}>{phone(stream)}", 0
        while await self.pause(pace * 4):
            for _ in range(self.rng.randint(1, 4)):
                wish = self._wish(org, to=phone(stream), stream=name, place=place)
                place += 1
                await self._submit(org, wish, self._body(wish, ordered=True), gives_up=False)
                await asyncio.sleep(self.rng.random() * 0.2)

    def _wish(self, org: SimulatedOrg, to: str, stream: str | None = None, place: int = 0) -> WantedMessage:
        """Both orgs use the same keys and write to the same customers."""
        self._numbers[org.name] += 1
        template = self.rng.random() < TEMPLATES
        key = f"k{self._numbers[org.name]}"
        wish = WantedMessage(org=org.name, key=key, to=to, stream=stream, place=place, template=template)
        self.record.wishes[org.name, wish.key] = wish
        return wish

    def _body(self, wish: WantedMessage, ordered: bool) -> dict[str, Any]:
        rng = self.rng
        body: dict[str, Any] = {
            "channel": "WHATSAPP",
            "to": wish.to,
            **_content(wish),
            "idempotencyKey": wish.key,
            "ordered": ordered,
            "priority": rng.choice((0, 5, 5, 9)),
            "maxAttempts": rng.choice((0, 2, 3, 3, 3)),
        }
        now = START + self.record.now()
        if rng.random() < 0.1:
            body["scheduledAt"] = to_datetime(Instant(now + rng.randrange(300_000_000)))
        if rng.random() < 0.05:
            wish.expires_at = now + rng.randrange(300_000_000, 900_000_000)
            body["expiresAt"] = to_datetime(Instant(wish.expires_at))
        return body

    async def _see_to(self, org: SimulatedOrg, wish: WantedMessage, body: dict[str, Any]) -> None:
        """Post it, check on it for a while, sometimes cancel it."""
        view = await self._submit(org, wish, body, gives_up=True)
        if view is None:
            return
        if self.rng.random() < 0.1:
            await self._try_other_content(org, body)
        if self.rng.random() < 0.15:
            await asyncio.sleep(self.rng.random() * 3)
            await self._cancel(org, view.id)
        for _ in range(self.rng.randint(0, 4)):
            await asyncio.sleep(self.rng.expovariate(1 / self.rng.choice((0.1, 1, 20))))
            await self.client.show(org, view.id)

    async def _submit(
        self, org: SimulatedOrg, wish: WantedMessage, body: dict[str, Any], gives_up: bool
    ) -> ObservedMessage | None:
        """Repeat the same key until a server confirms that it is stored."""
        wait = self.rng.choice(("", "", "", "?wait=sent", "?wait=delivered"))
        attempts, since = 0, self.record.now()
        while attempts < PATIENCE if gives_up else self.record.now() - since < ENDLESS:
            attempts += 1
            asked = self.record.now()
            reply = await self.client.ask(org, "POST", MESSAGES + wait, body)
            if reply is not None and reply.status in ACCEPTED:
                view = msgspec.json.decode(reply.body, type=ObservedMessage)
                self._compare(wait, reply.status, view)
                wish.ids.add(view.id)
                self.record.add_view(org.name, asked, view)
                return view
            if reply is not None and reply.status == 422 and b'"consent_required"' in reply.body:
                return None  # the customer has revoked consent
            self.client.expected(reply, *TRY_LATER)
            await asyncio.sleep(self.rng.uniform(0.2, min(60, 2**attempts)))
        if not gives_up:
            raise ServersStuck(f"{wish.text} was not acknowledged for hours")
        return None

    def _compare(self, wait: str, status: int, view: ObservedMessage) -> None:
        """A waiting caller gets 200 or 201 when the status was reached, and 202 when it was not reached in time."""
        reached = view.status in WAITED_FOR[wait]
        if reached != (status != 202):
            self.record.surprises.append(f"HTTP {status} to {wait or 'a plain POST'} shows {view.status}")

    async def _try_other_content(self, org: SimulatedOrg, body: dict[str, Any]) -> None:
        other = {**body, "priority": 1}
        reply = await self.client.ask(org, "POST", MESSAGES, other)
        self.client.expected(reply, 409, 422, *TRY_LATER)

    # Users

    async def _person(self, org: SimulatedOrg) -> None:
        """Look at the list now and then and retry a failed message."""
        while await self.pause(120):
            broken = await self.client.all(org, self.rng.choice(("FAILED", "CANCELLED", "SENDING")))
            if broken:
                await self._retry(org, self.rng.choice(broken).id)

    async def _operator(self, org: SimulatedOrg) -> None:
        """Disable the number for a while, then enable it again."""
        while await self.pause(900):
            await self._switch(org, on=False)
            await asyncio.sleep(self.rng.uniform(5, 120))
            await self._switch(org, on=True)

    async def _switch(self, org: SimulatedOrg, *, on: bool) -> None:
        await self.change_number(org, "on" if on else "off", {"enabled": on})

    async def change_number(self, org: SimulatedOrg, what: str, change: dict[str, Any]) -> None:
        asked = self.record.now()
        changes = self.record.switched.setdefault(org.number, [])
        reply = await self.client.insist(org, "PATCH", f"/api/v1/numbers/{org.number}", change)
        changes.append(NumberSwitch(asked, self.record.now(), what))
        self.client.expected(reply, 200)

    async def _retry(self, org: SimulatedOrg, message_id: int) -> None:
        asked = self.record.now()
        retried = Retried(asked, asked + LONGEST_ECHO)
        self.record.retried.setdefault((org.name, message_id), []).append(retried)
        reply = await self.client.ask(org, "POST", f"{MESSAGES}/{message_id}/retry")
        self.client.expected(reply, 200, 409, *TRY_LATER)
        if reply is not None and reply.status == 200:
            self.record.add_view(org.name, asked, msgspec.json.decode(reply.body, type=ObservedMessage))

    async def _cancel(self, org: SimulatedOrg, message_id: int) -> None:
        asked = self.record.now()
        reply = await self.client.ask(org, "POST", f"{MESSAGES}/{message_id}/cancel")
        self.client.expected(reply, 200, 409, *TRY_LATER)
        if reply is not None and reply.status == 200:
            self.record.add_view(org.name, asked, msgspec.json.decode(reply.body, type=ObservedMessage))
            self.record.cancelled[org.name, message_id] = self.record.now()


def _content(wish: WantedMessage) -> dict[str, Any]:
    """Freeform text, or a template with the same words in it."""
    if not wish.template:
        return {"payloadJson": {"text": wish.text}}
    words = [{"type": "text", "text": word} for word in (wish.text, "A1")]
    components = [{"type": "body", "parameters": words}]
    return {"templateCode": "order_confirmation", "payloadJson": {"language": "en", "components": components}}


def phone(number: int) -> str:
    return f"+4915112345{number:02}"
