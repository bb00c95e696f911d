"""A user's device: the client as it ships, over simulated connections, and the screen that its application keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.client.connection_state import ConnectionState
from waypost.client.delivery import ItemDelivery
from waypost.client.follow import ConnectionLoop, ConnectionTarget
from waypost.client.post import MessageSender
from waypost.client.reconnect import StopReconnecting
from waypost.client.rest import NoResponse, RestClient, RestResponse
from waypost.client.sending import RetryLater
from waypost.client.store import MemoryStore, Outgoing, StoredState
from waypost.client.stream import Stream
from waypost.client.timing import Timing
from waypost.client.types import Applied, Item, Json, Reset, SendRefused, SendRejected, SendStored, State
from waypost.client.types import Stopped as ToldToGo
from waypost.ports.platform.http_transport import HttpTransport, TransportError
from waypost_testing.stories.cluster import SERVERS
from waypost_testing.stories.following.lines import DeviceSocket, SimulatedSockets
from waypost_testing.stories.following.record import DeviceStopped, FollowRecord, ReceivedItem
from waypost_testing.stories.following.screen import Screen

TRY_AGAIN = (429, 500, 503)
PAGE = 50


@dataclass(frozen=True, kw_only=True)
class SimulatedUser:
    org: str
    id: str
    token: str


@dataclass(frozen=True, kw_only=True)
class DeviceEnvironment:
    """The surroundings of a device."""

    lines: SimulatedSockets
    transport: HttpTransport
    record: FollowRecord
    now: Callable[[], int]
    rng: Callable[[], float]

    def server(self) -> str:
        return SERVERS[int(self.rng() * len(SERVERS))]


class SimulatedRestClient(RestClient):
    """The client's HTTP over the simulated network, to any server."""

    def __init__(
        self, person: SimulatedUser, around: DeviceEnvironment, patience: float
    ) -> None:  # no real connection is under it
        self._person = person
        self._around = around
        self._patience = patience

    async def sync(self, device_id: str, stand: Json, wait: float) -> RestResponse:
        """Sorted, so that hash order does not matter: the same seed is the same run."""
        ordered = {**stand, "cursors": dict(sorted(stand["cursors"].items()))} if "cursors" in stand else stand
        return await super().sync(device_id, ordered, wait)

    async def ask(self, method: str, path: str, body: object = None) -> RestResponse:
        return await self._ask(method, path, body)

    async def insist(self, method: str, path: str, body: object = None) -> RestResponse:
        """Repeat the request until a server answers it."""
        while True:
            try:
                answer = await self._ask(method, path, body)
                if answer.status not in TRY_AGAIN:
                    return answer
            except NoResponse:
                pass
            await asyncio.sleep(0.2 + self._around.rng())

    async def _ask(self, method: str, path: str, body: object = None, wait: float = 0) -> RestResponse:
        url = f"http://{self._around.server()}/api/v1{path}"
        headers = {"authorization": f"Bearer {self._person.token}", "content-type": "application/json"}
        content = b"" if body is None else msgspec.json.encode(body)
        within = wait + self._patience
        try:
            reply = await self._around.transport.request(method, url, headers=headers, body=content, timeout=within)
        except TransportError as error:
            raise NoResponse(path) from error
        decoded = msgspec.json.decode(reply.body) if "json" in reply.headers.get("content-type", "") else None
        return RestResponse(reply.status, reply.headers.get("retry-after"), decoded)


class SimulatedTarget(ConnectionTarget):
    """The client's sockets: to any server, over a simulated connection."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device_id = device.id
        self._device = device

    async def open(self, timeout: float) -> DeviceSocket:
        around, person = self._device.around, self._device.person
        line = await around.lines.open(around.server(), person.token, timeout / 1000)
        self._device.lines.append(line)
        return line


class RecordingSender(MessageSender):
    """Records the sender's results."""

    record: FollowRecord

    async def _settle(self, name: str, verdict: SendStored | SendRejected | RetryLater | StopReconnecting) -> None:
        post = self.record.posts.get(name)
        if post is not None and isinstance(verdict, SendStored):
            post.acked.add((verdict.message_id, verdict.position))
        elif post is not None and isinstance(verdict, SendRejected):
            post.refused = verdict.code
        await super()._settle(name, verdict)


class RecordingStream(Stream):
    """Records every item that reaches the device, shown or not."""

    received: set[tuple[str, int, str, str | None]]

    def item(self, frame: Any, now: float) -> list[Applied]:
        name = (frame.get("message") or {}).get("client_message_id")
        self.received.add((frame["feed"], frame["seq"], frame["conversation_id"], name))
        return super().item(frame, now)


class SimulatedDevice:
    """Its store and its screen survive being switched off; everything else does not."""

    def __init__(self, id_: str, person: SimulatedUser, around: DeviceEnvironment) -> None:
        self.id = id_
        self.person = person
        self.around = around
        self.rest = SimulatedRestClient(person, around, Timing().open_timeout / 1000)
        self.screen = Screen(person.id)
        self.store = MemoryStore()
        self.lines: list[DeviceSocket] = []
        self.life = 0
        self.reading = False
        self.posting: RecordingSender | None = None
        self.situation: ConnectionState | None = None
        self._stream: Stream | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.gone_for_good = False

    @property
    def on(self) -> bool:
        return bool(self._tasks)

    async def switch_on(self) -> None:
        if self.on or self.gone_for_good:
            return
        self.life += 1
        kept, timing, around = await self.store.open(), Timing(), self.around
        situation = self.situation = ConnectionState(None)
        stream = self._stream = self._new_stream(kept, timing)
        taking = ItemDelivery(kept, self.store, situation, timing)
        posting = self.posting = RecordingSender(kept, self.store, self.rest, situation, timing, around.rng)
        posting.record = around.record
        following = ConnectionLoop(
            SimulatedTarget(self), self.rest, stream, taking, posting, situation, timing, around.rng
        )
        work = (following.run(), following.fill_gaps(), posting.run(), taking.keep(), self._show_all(taking))
        self._tasks = [asyncio.ensure_future(self._watched(each)) for each in work]

    def _new_stream(self, kept: StoredState, timing: Timing) -> Stream:
        stream = RecordingStream(kept, timing.hold)
        stream.received = self.around.record.received.setdefault(self.id, set())
        return stream

    async def _watched(self, work: Any) -> None:
        try:
            await work
        except ToldToGo:
            return
        except Exception as error:  # noqa: BLE001  # a mistake of the client is a finding
            self.around.record.failures.append(f"{self.id}: {type(error).__name__}: {error}")

    async def switch_off(self) -> None:
        """At once: what was not acknowledged comes again."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.posting is not None:
            await self.posting.stop()
        for line in self.lines[-2:]:
            line.drop()
        self.posting = self.situation = None

    # The screen

    async def _show_all(self, taking: ItemDelivery) -> None:
        try:
            async for applied in taking:
                await self._show(applied)
        except ToldToGo as stopped:
            newer = sum(1 for line in self.lines if line.code != stopped.code) if self.lines else 0
            self.around.record.stopped.append(DeviceStopped(self.id, stopped.code, self.around.now(), newer))

    async def _show(self, applied: Applied) -> None:
        self.reading = True
        match applied:
            case Reset(reason=reason, heads=heads):
                self.around.record.resets.setdefault(self.id, []).append(reason)
                self.around.record.starts.setdefault(self.id, set()).update(heads.items())
                await self._read_everything()
            case Item():
                self._note(applied)
                where = self.screen.apply(applied)
                if where is not None:
                    await self._read(where)
        self.reading = False

    def _note(self, item: Item) -> None:
        message = item.body.get("message") or {}
        self.around.record.got.setdefault(self.id, []).append(
            ReceivedItem(
                self.life,
                self.around.now(),
                item.feed,
                item.seq,
                item.kind,
                item.conversation_id or "",
                message.get("position", 0),
                message.get("client_message_id"),
            )
        )

    async def _read_everything(self) -> None:
        self.screen.clear()
        cursor = ""
        while True:
            page = (await self.rest.insist("GET", f"/conversations?limit={PAGE}{cursor}")).fields
            for shown in page["conversations"]:
                await self._read(shown["conversation_id"])
            if not page["has_more"]:
                return
            cursor = f"&cursor={page['next_cursor']}"

    async def _read(self, where: str) -> None:
        """A conversation that its user has left is not shown."""
        messages: list[Json] = []
        cursor = ""
        shown = await self.rest.insist("GET", f"/conversations/{where}")
        while shown.status == 200:
            page = await self.rest.insist("GET", f"/conversations/{where}/messages?limit={PAGE}{cursor}")
            if page.status != 200:
                break
            messages += page.fields["messages"]
            if not page.fields["has_more"]:
                self.screen.read(shown.fields, messages)
                return
            cursor = f"&cursor={page.fields['next_cursor']}"
        self.screen.gone(where)

    # User actions

    async def say(self, name: str, where: str, text: str) -> None:
        """Returns when it was answered, or when the device was switched off; then it is sent later."""
        if self.posting is None:
            return
        try:
            await self.posting.send(Outgoing(name, where, {"type": "text", "text": text}))
        except (SendRefused, ToldToGo):
            return

    async def mark_read(self, where: str, message_id: str) -> None:
        line = self.situation.socket if self.situation is not None else None
        if line is not None:
            await line.send({"type": "read", "conversation_id": where, "message_id": message_id})
        else:
            await self.rest.insist("POST", f"/conversations/{where}/read", {"message_id": message_id})

    @property
    def cursors(self) -> dict[str, int]:
        return {} if self._stream is None else self._stream.buffer.cursors

    def at_rest(self, heads: dict[str, int]) -> bool:
        """Whether it is live, has nothing to send or to read, and its cursors are at the heads of its feeds."""
        if self.situation is None or self.situation.state not in (State.LIVE, State.POLLING) or self.reading:
            return False
        idle = self.posting is not None and not len(self.posting._queue)  # noqa: SLF001  # nobody else can tell
        return idle and all(self.cursors.get(feed, head) == head for feed, head in heads.items())


def together(devices: Sequence[SimulatedDevice]) -> dict[str, list[SimulatedDevice]]:
    """By user."""
    found: dict[str, list[SimulatedDevice]] = {}
    for device in devices:
        found.setdefault(device.person.id, []).append(device)
    return found
