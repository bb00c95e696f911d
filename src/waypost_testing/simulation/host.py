"""An app that listens under a name, for as long as the life that started it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from waypost.ports.platform.http_transport import HttpReply
from waypost_testing.simulation.asgi import AsgiApp, Lifespan, SimulatedCall, SimulatedRequest, StartupFailed, scope_of
from waypost_testing.simulation.node import Node, NodeCrashed


class SimulatedHost:
    """Bound to the node's present life: after a restart the node must listen again, or connections are refused."""

    def __init__(self, name: str, node: Node, app: AsgiApp) -> None:
        self.name = name
        self.node = node
        self.life = node.life
        self.open = False
        self._app = app
        self._lifespan: Lifespan | None = None

    @property
    def up(self) -> bool:
        return self.open and self.life.alive

    def handle(
        self, request: SimulatedRequest, client: str, answered: Callable[[HttpReply | None, str | None], None]
    ) -> SimulatedCall:
        """Run the app on the request inside the node; a crash of the node answers None."""
        state = self._lifespan.state if self._lifespan is not None else {}

        def done(reply: HttpReply | None) -> None:
            self.life.unwatch(watch)
            answered(reply, call.error)

        call = SimulatedCall(scope_of(request, client, state), request.body, done)
        watch = self.life.watch(call.cut)
        self.node.spawn(call.run(self._app), name=f"{self.name}/{request.method} {request.target}")
        return call

    async def startup(self) -> None:
        """Run the app's lifespan up to its startup. Raises StartupFailed, or NodeCrashed if the node dies meanwhile."""
        self._lifespan = Lifespan(self._app)
        self.node.spawn(self._lifespan.run(), name=f"{self.name}/lifespan")
        await self._reach(self._lifespan.started)
        if self._lifespan.failure is not None:
            raise StartupFailed(f"{self.name}: {self._lifespan.failure}")

    async def shutdown(self) -> None:
        """Stop listening and end the app's lifespan in order."""
        self.open = False
        if self._lifespan is not None:
            self._lifespan.stop()
            await self._reach(self._lifespan.ended)

    async def _reach(self, event: asyncio.Event) -> None:
        waiting = asyncio.ensure_future(event.wait())
        await asyncio.wait((waiting, self.life.gone), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            raise NodeCrashed(f"{self.name}: its node died")
