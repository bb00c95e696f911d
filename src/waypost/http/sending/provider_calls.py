"""Results of direct provider calls as HTTP answers, for read receipts and media uploads."""

from __future__ import annotations

from waypost.flow.number_cache import ConnectedNumber
from waypost.flow.sending.submit import SubmitRefusal
from waypost.flow.world import World
from waypost.http.edge.problems import Problem
from waypost.model.outcome import ProviderRejected
from waypost.ports.sending.provider_extras import ProviderCallDone, ProviderCallResult
from waypost.rules.limits.error_catalogue import ErrorAction


def require_number(number: ConnectedNumber | SubmitRefusal) -> ConnectedNumber:
    if isinstance(number, SubmitRefusal):
        status = 404 if number.code == "unknown_number" else 422
        raise Problem(status, number.code, f"{number.field}: {number.reason}", field=number.field)
    return number


def require_done(result: ProviderCallResult, number: ConnectedNumber, world: World) -> ProviderCallDone:
    """422 if the caller must change the request, 502 if the same request may succeed later."""
    if isinstance(result, ProviderCallDone):
        return result
    if isinstance(result, ProviderRejected):
        action = world.catalogues[number.number.error_catalogue].action(result.code)
        status = 422 if action is ErrorAction.FAIL else 502
        raise Problem(status, "provider_refused", f"the provider refused it: {result.code} {result.message}")
    raise Problem(502, "provider_unreachable", f"the provider did not answer: {result.reason}; send it again")
