"""/healthz, /readyz and /metrics."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import MediaType, Response, Router, get
from litestar.di import Provide
from litestar.params import Dependency

from waypost.http.context import Host, host_of

ThisHost = Annotated[Host, Dependency(skip_validation=True)]


class Health(msgspec.Struct):
    status: str
    problems: list[str]


@get("/healthz", summary="Is the process alive?")
async def healthz() -> Health:
    return Health("ok", [])


@get("/readyz", summary="Can it do its work?")
async def readyz(host: ThisHost) -> Response[Health]:
    problems = await host.readiness()
    return Response(Health("not ready" if problems else "ok", problems), status_code=503 if problems else 200)


@get("/metrics", media_type=MediaType.TEXT, summary="Figures for Prometheus")
async def metrics(host: ThisHost) -> Response[bytes]:
    return Response(host.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")


router = Router(
    "/", dependencies={"host": Provide(host_of)}, tags=["Operations"], route_handlers=[healthz, readyz, metrics]
)
