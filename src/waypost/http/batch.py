"""/api/v1/outbound/messages/batch: many messages in one call, one answer for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec
from litestar import Response, Router, post
from litestar.di import Provide
from litestar.params import Body
from msgspec import Meta

from waypost.flow import submit
from waypost.flow.audit import actor_of
from waypost.flow.read_back import deferrals_if_known, heads_if_known
from waypost.http.context import Asking, Here, writer
from waypost.http.documented import BATCH_EXAMPLES, problems
from waypost.http.outbound import asked_for, refused
from waypost.http.problems import Problem, ProblemBody, ledger_problem, problem_body
from waypost.http.strict_body import invalid
from waypost.http.views import CreateMessage, MessageView, message_view
from waypost.ports.failure import LedgerError

MOST = 1000
Outcome: TypeAlias = submit.Stored | Problem


class CreateMessages(msgspec.Struct, forbid_unknown_fields=True):
    """At most 1000 messages. Each is read on its own, so that one that is wrong leaves the others alone."""

    messages: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MOST)]


class BatchResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a single POST would have answered: `message` below 400, `error` from there on."""

    status: int
    message: MessageView | None = None
    error: ProblemBody | None = None


class BatchResults(msgspec.Struct):
    results: list[BatchResult]


@post(
    "/messages/batch",
    status_code=207,
    summary="Send up to 1000 messages",
    responses=problems(400, 413, 422),
)
async def create_messages(
    data: Annotated[CreateMessages, Body(examples=BATCH_EXAMPLES)], caller: Asking, world: Here
) -> Response[BatchResults]:
    """One result per message, in order; an idempotency key counts for its own message, also within the batch."""
    read = [_read(raw, position) for position, raw in enumerate(data.messages)]
    answers = iter(
        await submit.submit_all([r for r in read if not isinstance(r, Problem)], caller.org_id, world, actor_of(caller))
    )
    outcomes = [each if isinstance(each, Problem) else _outcome(next(answers)) for each in read]
    return Response(BatchResults(await _results(outcomes, world)), status_code=207)


def _read(raw: msgspec.Raw, position: int) -> submit.Request | Problem:
    try:
        return asked_for(msgspec.json.decode(raw, type=CreateMessage), None)
    except msgspec.ValidationError as error:
        return invalid(str(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Problem(400, "invalid_json", f"message {position} is not JSON: {error}", field=f"messages[{position}]")


def _outcome(answer: submit.Answer | LedgerError) -> Outcome:
    if isinstance(answer, submit.Stored):
        return answer
    return refused(answer) if isinstance(answer, submit.Refusal) else ledger_problem(answer)


async def _results(outcomes: Sequence[Outcome], world: Here) -> list[BatchResult]:
    stored = [each.message for each in outcomes if isinstance(each, submit.Stored)]
    deferred, first = await deferrals_if_known(stored, world), await heads_if_known(stored, world)
    results = []
    for each in outcomes:
        if isinstance(each, Problem):
            results.append(BatchResult(status=each.status, error=problem_body(each)))
            continue
        view = message_view(each.message, deferred.get(each.message.id), first.get(each.message.id))
        results.append(BatchResult(status=201 if each.created else 200, message=view))
    return results


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(writer)},
    tags=["Outbound"],
    route_handlers=[create_messages],
)
