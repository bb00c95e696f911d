"""Every error as application/problem+json with a stable `code`, a plain sentence and the field, if any."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from waypost.model.message import Status
from waypost.ports.platform.failure import Busy, Full, HistoryNotConfigured, HistoryUnavailable, LedgerError, Rejected

log = structlog.get_logger("http")

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """An error response."""

    def __init__(
        self, status: int, code: str, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field
        self.headers = headers or {}


class ProblemBody(msgspec.Struct, kw_only=True, omit_defaults=True):
    """RFC 9457, with `code` to branch on and `field` if one field is invalid."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    field: str | None = None


_TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    415: "Unsupported media type",
    416: "Range not satisfiable",
    422: "Invalid content",
    429: "Too many requests",
    502: "Provider error",
    503: "Temporarily unavailable",
}
_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_type"}
_NAMES = {
    "dossier_id": "dossierId",
    "journal_state": "state",
    "media_state": "state",
    "turn_state": "state",
    "external_ref": "externalRef",
    "entity_type": "entityType",
    "entity_id": "entityId",
    "error_code": "errorCode",
    "key": "Idempotency-Key",
    "first": "from",
    "last": "to",
}
"""Parameters whose API name differs from the handler's."""


def problem_body(problem: Problem) -> ProblemBody:
    title = _TITLES.get(problem.status, "Error")
    return ProblemBody(
        title=title, status=problem.status, code=problem.code, detail=problem.detail, field=problem.field
    )


def body(problem: Problem) -> bytes:
    return msgspec.json.encode(problem_body(problem))


def _response(problem: Problem) -> Response[bytes]:
    return Response(body(problem), status_code=problem.status, media_type=MEDIA_TYPE, headers=problem.headers)


def on_problem(_: Request[Any, Any, Any], problem: Problem) -> Response[bytes]:
    return _response(problem)


def ledger_problem(failure: LedgerError) -> Problem:
    if isinstance(failure, Rejected):
        return Problem(422, "cannot_be_stored", "the database cannot store this")
    if isinstance(failure, Full):
        detail = "the database's disk is full and nothing was stored: send it again later"
        return Problem(503, "storage_full", detail, headers={"retry-after": "10"})
    if isinstance(failure, HistoryNotConfigured):
        detail = "older messages are in a history store that this server is not connected to: set WAYPOST_HISTORY_URL"
        return Problem(503, "history_unavailable", detail)
    if isinstance(failure, HistoryUnavailable):
        detail = "older messages cannot be read at the moment: try again shortly"
        return Problem(503, "history_unavailable", detail, headers={"retry-after": "5"})
    code, detail = (
        ("busy", "the server is overloaded and nothing was stored")
        if isinstance(failure, Busy)
        else (
            "unavailable",
            "the database cannot be reached",
        )
    )
    return Problem(503, code, f"{detail}: try again shortly", headers={"retry-after": "1"})


def on_ledger_error(_: Request[Any, Any, Any], failure: LedgerError) -> Response[bytes]:
    return _response(ledger_problem(failure))


_MISSING = re.compile(r"Missing required query parameter '(\w+)'")
_CHOICES = {"status": ", ".join(Status), "wait": "sent, delivered"}


def on_validation(_: Request[Any, Any, Any], error: ValidationException) -> Response[bytes]:
    """An invalid parameter; bodies are decoded before Litestar sees them."""
    first = error.extra[0] if isinstance(error.extra, list) and error.extra else {}
    name = str(first.get("key") or "")
    if missing := _MISSING.match(error.detail):
        return _response(Problem(400, "invalid_parameter", f"{missing[1]} is required", field=missing[1]))
    field = _NAMES.get(name, name) or None
    what = str(first.get("message") or error.detail)
    if what.startswith("Invalid enum value") and field in _CHOICES:
        what = f"must be one of {_CHOICES[field]}"
    if first.get("source") == "body" or field == "data":
        return _response(Problem(422, "invalid_payload", "a JSON body is required"))
    return _response(Problem(400, "invalid_parameter", f"{field}: {what}" if field else what, field=field))


HUNG_UP = "client disconnected prematurely"
"""Litestar's words, in an error like any other of the server's."""


def on_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    if error.detail == HUNG_UP:
        log.debug("client_hung_up", path=request.url.path)
        return _response(Problem(400, "invalid_json", "the body ended too early"))
    if error.status_code >= 500:
        return on_bug(request, error)
    code = _CODES.get(error.status_code, "error")
    if error.status_code == 400:
        code = "invalid_json"
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    return _response(Problem(error.status_code, code, str(error.detail), headers=headers))


def on_too_large(request: Request[Any, Any, Any], _: RequestEntityTooLarge) -> Response[bytes]:
    most = request.route_handler.resolve_request_max_body_size()
    return _response(Problem(413, "too_large", f"the body of this request may have at most {most} bytes"))


def on_bug(_: Request[Any, Any, Any], bug: Exception) -> Response[bytes]:
    """Logs the exception; the caller gets no internals."""
    context = {"message": "a request failed", "exception": bug}
    asyncio.get_running_loop().call_exception_handler(context)
    return _response(Problem(500, "internal_error", "internal error; the server's log has the details"))
