"""/healthz, /readyz and /metrics."""

from __future__ import annotations

from typing import Literal

import msgspec
from litestar import MediaType, Response, Router, get
from litestar.openapi.datastructures import ResponseSpec

from waypost.http.context import Hosting


class Health(msgspec.Struct):
    status: Literal["ok", "not ready"]
    problems: list[str]


class Readiness(Health):
    roles: dict[str, list[str]]
    """What each role of this process waits for; nothing when it is ready."""


_NOT_READY = ResponseSpec(data_container=Readiness, description="`problems` says why not", generate_examples=False)


@get("/healthz", summary="Is the process alive?", security=[{}])
async def healthz() -> Health:
    return Health("ok", [])


@get("/readyz", summary="Can it do its work?", security=[{}], responses={503: _NOT_READY})
async def readyz(host: Hosting) -> Response[Readiness]:
    """Of this process; one of its roles that cannot work makes it not ready."""
    roles = await host.readiness()
    problems = list(dict.fromkeys(problem for waits in roles.values() for problem in waits))
    told = Readiness("not ready" if problems else "ok", problems, roles)
    return Response(told, status_code=503 if problems else 200)


@get("/metrics", media_type=MediaType.TEXT, summary="Figures for Prometheus", security=[{}], sync_to_thread=True)
def metrics(host: Hosting) -> Response[str]:
    """In a thread: the process's own figures are read from files."""
    return Response(host.metrics().decode(), media_type="text/plain; version=0.0.4; charset=utf-8")


router = Router("/", tags=["Operations"], route_handlers=[healthz, readyz, metrics])
