"""/api/v1/numbers/{phone_number_id}/try: whether a number works, in words."""

from __future__ import annotations

from litestar import post
from litestar.params import FromPath

from waypost.flow import try_number as step
from waypost.http.context import Asking, Here
from waypost.http.documented import problems
from waypost.http.problems import Problem
from waypost.http.trial_view import TrialView, trial_view
from waypost.model.ids import NumberId


@post(
    "/numbers/{phone_number_id:str}/try",
    status_code=200,
    summary="Ask the provider whether a number works",
    responses=problems(404),
)
async def try_number(phone_number_id: FromPath[str], caller: Asking, world: Here) -> TrialView:
    """The provider is asked for the number's own record, with the token that is kept here; nothing is sent.

    Whatever it says is a 200: `state` tells. A provider that does not answer is given up after ten seconds.
    """
    found = await step.try_number(caller.org_id, NumberId(phone_number_id), world)
    if found is None:
        raise Problem(404, "not_found", f"this org has no number {phone_number_id[:80]}")
    return trial_view(found)
