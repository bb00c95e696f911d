"""The error responses and other answers of a route, for the OpenAPI document."""

from __future__ import annotations

from litestar.openapi.datastructures import ResponseSpec

from waypost.http.edge.problems import MEDIA_TYPE, ProblemBody
from waypost.http.edge.webhook_docs import BUSY

_WHAT = {
    400: "The body is not JSON, or a parameter is invalid",
    401: "The key is missing, unknown or revoked",
    403: "The key's role does not allow this, or X-Org-Id is another org",
    404: "This org has no such thing",
    408: "The body did not arrive in time",
    409: "It conflicts with the current state",
    410: "It no longer exists",
    413: "The body is too large",
    415: "The body is not a multipart form",
    416: "The requested range is beyond the end of the file",
    422: "The content is invalid; `code` and `field` have the reason",
    502: "The provider refused the request or did not answer",
    429: "The org exceeds its requestRate: retry after Retry-After seconds",
    503: BUSY,
}
_ALWAYS = (401, 403, 429, 503)


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """The error responses of a route that needs a key, with those that all such routes share."""
    return {
        status: ResponseSpec(
            data_container=ProblemBody, description=_WHAT[status], media_type=MEDIA_TYPE, generate_examples=False
        )
        for status in sorted({*statuses, *_ALWAYS})
    }


def shows(view: type, description: str) -> ResponseSpec:
    return ResponseSpec(data_container=view, description=description, generate_examples=False)
