"""Meta's error codes with their titles and HTTP statuses, and the Graph API's error bodies."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import msgspec

INVALID_PARAMETER: Final = 100
TOKEN_INVALID: Final = 190
RATE_LIMIT_HIT: Final = 130429
SOMETHING_WENT_WRONG: Final = 131000
MISSING_PARAMETER: Final = 131008
INVALID_VALUE: Final = 131009
RECIPIENT_IS_SENDER: Final = 131021
WINDOW_CLOSED: Final = 131047
UNSUPPORTED_TYPE: Final = 131051
MEDIA_UPLOAD: Final = 131053
USER_ID_NOT_SUPPORTED: Final = 131062
TEMPLATE_COUNT: Final = 132000
TEMPLATE_UNKNOWN: Final = 132001
TEMPLATE_TOO_LONG: Final = 132005
TEMPLATE_FORMAT: Final = 132012
TEMPLATE_PAUSED: Final = 132015
TEMPLATE_DISABLED: Final = 132016

HREF: Final = "https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes"


class KnownError(msgspec.Struct, frozen=True):
    title: str
    http_status: int


class GraphError(msgspec.Struct, frozen=True):
    """Why a call is refused; None values come from Meta's table."""

    code: int
    details: str | None = None
    message: str | None = None
    http_status: int | None = None
    subcode: int | None = None
    kind: str = "OAuthException"


def _load() -> Mapping[int, KnownError]:
    """Expands ranges such as 200-299; a code with its own row keeps it."""
    table: dict[int, KnownError] = {}
    lines = files("waypost.sandbox.edge").joinpath("error_codes.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(lines):
        first, _, last = row["code"].partition("-")
        known = KnownError(row["title"].strip("[]"), int(row["http_status"] or 400))
        for code in range(int(first), int(last or first) + 1):
            table.setdefault(code, known)
    return MappingProxyType(table)


CATALOGUE: Final = _load()
"""Read at import, so that a running sandbox opens no file."""


def known_error(code: int) -> KnownError:
    return CATALOGUE.get(code) or KnownError("Unknown error", 400)


def http_status_of(refusal: GraphError) -> int:
    return refusal.http_status or known_error(refusal.code).http_status


def error_body(refusal: GraphError, trace: str) -> dict[str, Any]:
    error: dict[str, Any] = {
        "message": refusal.message or f"(#{refusal.code}) {known_error(refusal.code).title}",
        "type": refusal.kind,
        "code": refusal.code,
    }
    if refusal.details is not None:
        error["error_data"] = {"messaging_product": "whatsapp", "details": refusal.details}
    if refusal.subcode is not None:
        error["error_subcode"] = refusal.subcode
    error["fbtrace_id"] = trace
    return {"error": error}


def webhook_error(code: int, details: str | None = None) -> dict[str, Any]:
    """The error in the form of a status webhook."""
    title = known_error(code).title
    return {
        "code": code,
        "title": title,
        "message": title,
        "error_data": {"details": details or title},
        "href": HREF,
    }


def of_code(code: int, http_status: int | None = None) -> GraphError:
    """An error that a fault or a magic number requests."""
    return GraphError(code, details=f"{known_error(code).title}: asked of the sandbox", http_status=http_status)


def missing(where: str) -> GraphError:
    return GraphError(MISSING_PARAMETER, details=f"Parameter '{where}' is required")


def invalid(where: str, why: str) -> GraphError:
    return GraphError(INVALID_VALUE, details=f"Parameter '{where}' {why}")


def bad_parameter(details: str) -> GraphError:
    return GraphError(INVALID_PARAMETER, details=details, message=f"(#100) {details}")


NO_TOKEN: Final = GraphError(
    TOKEN_INVALID, message="An access token is required to request this resource.", http_status=401
)
BAD_TOKEN: Final = GraphError(
    TOKEN_INVALID, message="Invalid OAuth access token - Cannot parse access token", http_status=401
)


def no_such_object(method: str, object_id: str) -> GraphError:
    return GraphError(
        INVALID_PARAMETER,
        message=f"Unsupported {method.lower()} request. Object with ID '{object_id}' does not exist, cannot be loaded"
        " due to missing permissions, or does not support this operation. Please read the Graph API documentation at"
        " https://developers.facebook.com/docs/graph-api",
        subcode=33,
        kind="GraphMethodException",
    )


def unknown_path(path: str) -> GraphError:
    return GraphError(2500, message=f"Unknown path components: {path}", http_status=400)
