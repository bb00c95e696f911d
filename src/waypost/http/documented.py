"""What the OpenAPI document says beyond the types: the errors of a route, and examples."""

from __future__ import annotations

from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example

from waypost.http.problems import MEDIA_TYPE, ProblemBody
from waypost.http.views import MessageView

_WHAT = {
    400: "A parameter cannot be read",
    401: "No key, or one that is unknown or revoked",
    403: "The key's role does not allow this, or X-Org-Id is another org",
    404: "This org has no such thing",
    409: "It does not fit what is there already",
    422: "The content cannot be taken as it is; `code` and `field` say why",
    503: "The database is busy or away: come back after Retry-After",
}


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    return {
        status: ResponseSpec(
            data_container=ProblemBody, description=_WHAT[status], media_type=MEDIA_TYPE, generate_examples=False
        )
        for status in statuses
    }


EXAMPLE = {
    200: ResponseSpec(
        data_container=MessageView,
        description="The key was used before with the same content: the same message",
        generate_examples=False,
    ),
    202: ResponseSpec(
        data_container=MessageView,
        description="Stored; the status that was waited for did not come within the sync timeout",
        generate_examples=False,
        examples=[Example(summary="still on its way", value={"id": 456, "status": "SENDING"})],
    ),
}
