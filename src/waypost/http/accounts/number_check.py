"""/api/v1/numbers/{phone_number_id}/try: checks with the provider whether a number works."""

from __future__ import annotations

from litestar import post
from litestar.params import FromPath

from waypost.flow.accounts import check_number as step
from waypost.http.accounts.number_check_view import TrialView, trial_view
from waypost.http.edge.context import CurrentCaller, CurrentWorld
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.model.ids import NumberId


@post(
    "/numbers/{phone_number_id:str}/try",
    status_code=200,
    summary="Ask the provider whether a number works",
    responses=problems(404),
)
async def try_number(phone_number_id: FromPath[str], caller: CurrentCaller, world: CurrentWorld) -> TrialView:
    """Reads the number's record from the provider with the stored token; sends no message.

    The response is always 200; `state` holds the outcome. The request times out after ten seconds.
    """
    found = await step.try_number(caller.org_id, NumberId(phone_number_id), world)
    if found is None:
        raise Problem(404, "not_found", f"this org has no number {phone_number_id[:80]}")
    return trial_view(found)
