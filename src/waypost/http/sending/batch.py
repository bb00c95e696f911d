"""/api/v1/outbound/messages/batch: many messages in one call, with one result each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec
from litestar import Response, Router, post
from litestar.di import Provide
from litestar.params import Body
from msgspec import Meta

from waypost.flow.operations.audit import actor_of
from waypost.flow.operations.why_waiting import deferrals_if_known, heads_if_known
from waypost.flow.sending import submit
from waypost.http.edge.context import CurrentCaller, CurrentWorld, writer
from waypost.http.edge.problems import Problem, ProblemBody, ledger_problem, problem_body
from waypost.http.edge.route_docs import problems
from waypost.http.edge.strict_body import invalid
from waypost.http.sending.examples import BATCH_EXAMPLES
from waypost.http.sending.outbound import refused, submit_request
from waypost.http.sending.views import CreateMessage, MessageView, message_view
from waypost.ports.platform.failure import LedgerError

MOST = 1000
BatchOutcome: TypeAlias = submit.StoredMessage | Problem


class CreateMessages(msgspec.Struct, forbid_unknown_fields=True):
    """At most 1000 messages. Each is decoded on its own, so that an invalid one does not affect the others."""

    messages: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MOST)]


class BatchResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The response of a single POST: `message` for a status below 400, otherwise `error`."""

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
    data: Annotated[CreateMessages, Body(examples=BATCH_EXAMPLES)], caller: CurrentCaller, world: CurrentWorld
) -> Response[BatchResults]:
    """One result per message, in order; idempotency keys apply per message, also within the batch."""
    read = [_read(raw, position) for position, raw in enumerate(data.messages)]
    answers = iter(
        await submit.submit_all([r for r in read if not isinstance(r, Problem)], caller.org_id, world, actor_of(caller))
    )
    outcomes = [each if isinstance(each, Problem) else _outcome(next(answers)) for each in read]
    return Response(BatchResults(await _results(outcomes, world)), status_code=207)


def _read(raw: msgspec.Raw, position: int) -> submit.SubmitRequest | Problem:
    try:
        return submit_request(msgspec.json.decode(raw, type=CreateMessage), None)
    except msgspec.ValidationError as error:
        return invalid(str(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Problem(400, "invalid_json", f"message {position} is not JSON: {error}", field=f"messages[{position}]")


def _outcome(answer: submit.SubmitResult | LedgerError) -> BatchOutcome:
    if isinstance(answer, submit.StoredMessage):
        return answer
    return refused(answer) if isinstance(answer, submit.SubmitRefusal) else ledger_problem(answer)


async def _results(outcomes: Sequence[BatchOutcome], world: CurrentWorld) -> list[BatchResult]:
    stored = [each.message for each in outcomes if isinstance(each, submit.StoredMessage)]
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
