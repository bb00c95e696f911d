"""The sandbox as an ASGI application that simulates Meta's WhatsApp Cloud API."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.ports.platform.clock import Clock, Ids, RandomSource
from waypost.ports.platform.http_transport import HttpTransport
from waypost.sandbox.content.templates import TemplateRegistry
from waypost.sandbox.control.change_watch import ChangeWatch
from waypost.sandbox.control.routes import Control
from waypost.sandbox.edge.asgi import (
    AsgiMessage,
    BodyTooLarge,
    CallerGone,
    Receive,
    SandboxRequest,
    SandboxResponse,
    Send,
    read_request,
    refused,
    transmit,
)
from waypost.sandbox.edge.graph_errors import bad_parameter
from waypost.sandbox.faults import Faults
from waypost.sandbox.graph.account import AccountEndpoints
from waypost.sandbox.graph.calls import Calls
from waypost.sandbox.graph.media import MediaEndpoints
from waypost.sandbox.graph.messages import MessageEndpoints
from waypost.sandbox.graph.router import Graph
from waypost.sandbox.phones.changes import Changes
from waypost.sandbox.phones.contacts import Contacts
from waypost.sandbox.phones.delivery_simulator import DeliverySimulator
from waypost.sandbox.phones.phones import Phones
from waypost.sandbox.phones.screens import Screens
from waypost.sandbox.settings import SandboxLimits, SandboxTiming
from waypost.sandbox.store.media import MediaStore
from waypost.sandbox.store.numbers import Numbers, SandboxNumber
from waypost.sandbox.tasks import Tasks
from waypost.sandbox.webhooks.account_updates import Updates
from waypost.sandbox.webhooks.sender import Webhooks


class Sandbox:
    """Clock, random source, ids and HTTP transport are arguments, so that a simulation can control them.

    `numbers`, `faults`, `calls`, `phones`, `templates` and `media` are for callers in the same process.
    """

    def __init__(  # noqa: PLR0913 - the composition root of the sandbox
        self,
        clock: Clock,
        random: RandomSource,
        ids: Ids,
        transport: HttpTransport,
        numbers: Sequence[SandboxNumber],
        base_url: str | None = None,
        *,
        timing: SandboxTiming = SandboxTiming(),  # noqa: B008 - frozen, so sharing is safe
        keep: SandboxLimits = SandboxLimits(),  # noqa: B008 - frozen, so sharing is safe
        enforce_window: bool = False,
    ) -> None:
        self._ids = ids
        self._tasks = Tasks()
        self.numbers = Numbers(numbers)
        self.faults = Faults(random)
        self.calls, self.templates = Calls(keep.call_bytes), TemplateRegistry()
        self.media = MediaStore(clock, ids, keep.media_bytes)
        self._changes = Changes(clock)
        contacts, screens = Contacts(keep.contacts), Screens(keep.message_bytes, self.templates, self._changes)
        webhooks = Webhooks(clock, transport, self._tasks, timing)
        delivery = DeliverySimulator(clock, ids, self._tasks, webhooks, contacts, screens, timing, enforce_window)
        self.phones = Phones(clock, ids, webhooks, contacts, screens, delivery, self.media)
        updates = Updates(clock, self.numbers, webhooks)
        watch = ChangeWatch(clock, self.numbers, contacts, screens, self.faults, self._changes)
        self._control = Control(ids, self.numbers, self.faults, self.calls, self.phones, webhooks, updates, watch)
        self._graph = Graph(
            ids,
            AccountEndpoints(ids, self.numbers, self.templates),
            MediaEndpoints(clock, ids, self.numbers, self.media, base_url),
            MessageEndpoints(clock, ids, self.numbers, self.templates, self.faults, self.calls, screens, delivery),
        )

    def dismiss(self) -> None:
        """Answers all requests that wait for a change, so that a stop need not wait for them."""
        self._changes.end()

    async def close(self) -> None:
        """Cancels all background work: no webhook is posted after this."""
        self.dismiss()
        await self._tasks.cancel()

    async def settled(self) -> None:
        """Returns when every status was posted and every webhook was answered or given up."""
        await self._tasks.finish()

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})

    async def _serve(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        try:
            reply = await self._answered(await read_request(scope, receive))
        except CallerGone:
            return
        except BodyTooLarge:
            too_large = msgspec.structs.replace(bad_parameter("The request is too large."), http_status=413)
            reply = refused(too_large, self._ids.token(12))
        await transmit(reply, send)

    async def _answered(self, request: SandboxRequest) -> SandboxResponse:
        parts = [part for part in request.path.split("/") if part]
        if parts and parts[0] == "_sandbox":
            return await self._control.answer(request, parts[1:])
        return await self._graph.answer(request, parts)
