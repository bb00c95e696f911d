"""The sandbox as an ASGI application: a look-alike of Meta's WhatsApp Cloud API."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.ports.clock import Clock, Dice, Ids
from waypost.ports.wire import Wire
from waypost.sandbox.account import AccountEndpoints
from waypost.sandbox.asgi import (
    Answer,
    BodyTooLarge,
    CallerGone,
    Event,
    Receive,
    Request,
    Send,
    read_request,
    refused,
    transmit,
)
from waypost.sandbox.calls import Calls
from waypost.sandbox.changes import Changes
from waypost.sandbox.contacts import Contacts
from waypost.sandbox.control import Control
from waypost.sandbox.courier import Courier
from waypost.sandbox.faults import Faults
from waypost.sandbox.graph import Graph
from waypost.sandbox.graph_errors import bad_parameter
from waypost.sandbox.media import MediaEndpoints, MediaStore
from waypost.sandbox.messages import Messages
from waypost.sandbox.numbers import Numbers, SandboxNumber
from waypost.sandbox.phones import Phones
from waypost.sandbox.screens import Screens
from waypost.sandbox.settings import Keep, Timing
from waypost.sandbox.tasks import Tasks
from waypost.sandbox.templates import Templates
from waypost.sandbox.updates import Updates
from waypost.sandbox.watching import Watching
from waypost.sandbox.webhooks import Webhooks


class Sandbox:
    """Time, chance, ids and the network come from outside, so that a simulation can hold all four.

    `numbers`, `faults`, `calls`, `phones`, `templates` and `media` are there for callers in the same process.
    """

    def __init__(  # noqa: PLR0913 - the one place where everything comes together
        self,
        clock: Clock,
        dice: Dice,
        ids: Ids,
        wire: Wire,
        numbers: Sequence[SandboxNumber],
        base_url: str | None = None,
        *,
        timing: Timing = Timing(),  # noqa: B008 - frozen, so one for all is safe
        keep: Keep = Keep(),  # noqa: B008 - frozen, so one for all is safe
        enforce_window: bool = False,
    ) -> None:
        self._ids = ids
        self._tasks = Tasks()
        self.numbers = Numbers(numbers)
        self.faults = Faults(dice)
        self.calls, self.templates = Calls(keep.calls), Templates()
        self.media = MediaStore(clock, ids, keep.media_bytes)
        self._changes = Changes(clock)
        contacts, screens = Contacts(keep.contacts), Screens(keep.messages, self.templates, self._changes)
        webhooks = Webhooks(clock, wire, self._tasks, timing)
        courier = Courier(clock, ids, self._tasks, webhooks, contacts, screens, timing, enforce_window)
        self.phones = Phones(clock, ids, webhooks, contacts, screens, courier, self.media)
        updates = Updates(clock, self.numbers, webhooks)
        watching = Watching(clock, self.numbers, contacts, screens, self.faults, self._changes)
        self._control = Control(ids, self.numbers, self.faults, self.calls, self.phones, webhooks, updates, watching)
        self._graph = Graph(
            ids,
            AccountEndpoints(ids, self.numbers, self.templates),
            MediaEndpoints(clock, ids, self.numbers, self.media, base_url),
            Messages(clock, ids, self.numbers, self.templates, self.faults, self.calls, screens, courier),
        )

    def dismiss(self) -> None:
        """Whoever waits for a change on a phone is answered now, so that a stop need not wait for them."""
        self._changes.end()

    async def close(self) -> None:
        """Stop everything under way: no webhook leaves after this."""
        self.dismiss()
        await self._tasks.cancel()

    async def settled(self) -> None:
        """Return when every status was posted and every webhook answered or given up."""
        await self._tasks.finish()

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
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

    async def _serve(self, scope: Event, receive: Receive, send: Send) -> None:
        try:
            reply = await self._answered(await read_request(scope, receive))
        except CallerGone:
            return
        except BodyTooLarge:
            too_large = msgspec.structs.replace(bad_parameter("The request is too large."), http_status=413)
            reply = refused(too_large, self._ids.token(12))
        await transmit(reply, send)

    async def _answered(self, request: Request) -> Answer:
        parts = [part for part in request.path.split("/") if part]
        if parts and parts[0] == "_sandbox":
            return await self._control.answer(request, parts[1:])
        return await self._graph.answer(request, parts)
