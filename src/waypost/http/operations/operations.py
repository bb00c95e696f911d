"""/healthz, /readyz and /metrics."""

from __future__ import annotations

from typing import Literal

import msgspec
from litestar import MediaType, Response, Router, get
from litestar.openapi.datastructures import ResponseSpec

from waypost.http.edge.context import CurrentHost


class Health(msgspec.Struct):
    status: Literal["ok", "not ready"]
    problems: list[str]


class Readiness(Health):
    roles: dict[str, list[str]]
    """Why each role of this process is not ready; empty when it is."""
    warnings: list[str]
    """What an operator should know although the process works."""


_NOT_READY = ResponseSpec(data_container=Readiness, description="`problems` has the reasons", generate_examples=False)


@get("/healthz", summary="Whether the process is alive", security=[{}])
async def healthz() -> Health:
    return Health("ok", [])


@get("/readyz", summary="Whether the process is ready", security=[{}], responses={503: _NOT_READY})
async def readyz(host: CurrentHost) -> Response[Readiness]:
    """For this process; it is not ready if any of its roles is not."""
    roles = await host.readiness()
    problems = list(dict.fromkeys(problem for waits in roles.values() for problem in waits))
    readiness = Readiness("not ready" if problems else "ok", problems, roles, host.warnings())
    return Response(readiness, status_code=503 if problems else 200)


@get("/metrics", media_type=MediaType.TEXT, summary="Metrics for Prometheus", security=[{}], sync_to_thread=True)
def metrics(host: CurrentHost) -> Response[str]:
    """In a thread, since the process's own metrics are read from files."""
    return Response(host.metrics().decode(), media_type="text/plain; version=0.0.4; charset=utf-8")


router = Router("/", tags=["Operations"], route_handlers=[healthz, readyz, metrics])
