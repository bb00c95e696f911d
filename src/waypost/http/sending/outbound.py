"""/api/v1/outbound: sends, reads, retries and cancels messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from litestar import Response, Router, get, post
from litestar.di import Provide
from litestar.params import Body, HeaderParameter, PathParameter, QueryParameter

from waypost.flow.operations.audit import actor_of
from waypost.flow.operations.why_waiting import circumstances, deferrals, deferrals_if_known, heads, heads_if_known
from waypost.flow.sending import await_status, messages, submit
from waypost.flow.sending.await_status import WaitGoal
from waypost.flow.world import World
from waypost.http.edge.context import CurrentCaller, CurrentWorld, reader, writer
from waypost.http.edge.problems import Problem
from waypost.http.edge.route_docs import problems
from waypost.http.sending.examples import CREATED, MESSAGE_EXAMPLES
from waypost.http.sending.views import (
    AttemptView,
    CreateMessage,
    MessagePage,
    MessageView,
    Timeline,
    attempt_view,
    message_view,
    parse_time,
    timeline_view,
)
from waypost.model.account import Caller
from waypost.model.ids import MessageId
from waypost.model.message import Message, Status
from waypost.ports.sending.messages import MessageRecord, PageQuery, Query
from waypost.ports.sending.outbox import MessageChanged, MessageChangeResult, NotAllowed
from waypost.rules.content import email, recipient
from waypost.rules.operations.timeline import timeline
from waypost.rules.operations.why import next_at, why
from waypost.rules.receiving.webhook import status_details

LARGEST_ID = 2**63 - 1
MessageIdPath = Annotated[int, PathParameter(description="A message's id")]
DossierIdFilter = Annotated[int | None, QueryParameter(name="dossierId", ge=1, le=LARGEST_ID, required=False)]


@post(
    "/messages",
    dependencies={"caller": Provide(writer)},
    summary="Send a message",
    responses=problems(400, 404, 409, 413, 422) | CREATED,
)
async def create_message(
    data: Annotated[CreateMessage, Body(examples=MESSAGE_EXAMPLES)],
    caller: CurrentCaller,
    world: CurrentWorld,
    wait: Annotated[WaitGoal | None, QueryParameter(required=False, description="Wait for this status")] = None,
    key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key", max_length=255, required=False, description="Used if the body has no idempotencyKey"
        ),
    ] = None,
) -> Response[MessageView]:
    """Store a message and send it. 201 when stored, 200 when the key was used before with the same content."""
    answer = await submit.submit(submit_request(data, key), caller.org_id, world, actor_of(caller))
    if isinstance(answer, submit.SubmitRefusal):
        raise refused(answer)
    status = 201 if answer.created else 200
    message = answer.message
    if wait is not None and not world.tuning.never_wait:
        waited = await await_status.await_status(caller.org_id, message.id, wait, world)
        message, status = waited.message, status if waited.reached else 202
    return Response(await changed_view(message, world), status_code=status)


async def changed_view(message: Message, world: CurrentWorld) -> MessageView:
    """For a message this call has just stored or changed: shown even if its queue cannot be read."""
    deferred, first = await deferrals_if_known([message], world), await heads_if_known([message], world)
    return message_view(message, deferred.get(message.id), first.get(message.id))


async def message_with_deferral(message: Message, world: CurrentWorld) -> MessageView:
    (view,) = await messages_with_deferrals([message], world)
    return view


async def messages_with_deferrals(messages: Sequence[Message], world: CurrentWorld) -> list[MessageView]:
    """With the rule that defers each message, or the message it waits behind."""
    deferred, first = await deferrals(messages, world), await heads(messages, world)
    return [message_view(message, deferred.get(message.id), first.get(message.id)) for message in messages]


def submit_request(data: CreateMessage, header_key: str | None) -> submit.SubmitRequest:
    return submit.SubmitRequest(
        channel=data.channel,
        to=data.to,
        sender=data.sender,
        template=data.template_code,
        subject=data.subject,
        payload=data.payload_json,
        dossier_id=data.dossier_id,
        idempotency_key=data.idempotency_key if data.idempotency_key is not None else header_key,
        priority=data.priority,
        scheduled_at=parse_time(data.scheduled_at),
        expires_at=parse_time(data.expires_at),
        ordered=data.ordered,
        max_attempts=data.max_attempts,
    )


_STATUSES = {"idempotency_conflict": 409, "unknown_number": 404, "unknown_mailbox": 404}


def refused(refusal: submit.SubmitRefusal) -> Problem:
    status = _STATUSES.get(refusal.code, 422)
    return Problem(status, refusal.code, f"{refusal.field}: {refusal.reason}", field=refusal.field)


def _possible(message_id: int) -> MessageId:
    """The id; 404 if it is out of range."""
    if not 0 < message_id <= LARGEST_ID:
        raise _no_message(message_id)
    return MessageId(message_id)


def _no_message(message_id: int) -> Problem:
    named = message_id if abs(message_id) <= LARGEST_ID else "with such a number"
    return Problem(404, "not_found", f"there is no message {named}")


async def _life(org: CurrentCaller, message_id: int, world: CurrentWorld) -> MessageRecord:
    life = await messages.record(org.org_id, _possible(message_id), world)
    if life is None:
        raise _no_message(message_id)
    return life


@get("/messages/{message_id:int}", summary="A message and its status", responses=problems(404))
async def get_message(message_id: MessageIdPath, caller: CurrentCaller, world: CurrentWorld) -> MessageView:
    message = await messages.message(caller.org_id, _possible(message_id), world)
    if message is None:
        raise _no_message(message_id)
    return await message_with_deferral(message, world)


@get("/messages/{message_id:int}/attempts", summary="A message's attempts", responses=problems(404))
async def get_attempts(message_id: MessageIdPath, caller: CurrentCaller, world: CurrentWorld) -> list[AttemptView]:
    life = await _life(caller, message_id, world)
    return [attempt_view(attempt) for attempt in life.attempts]


@get("/messages/{message_id:int}/timeline", summary="A message's timeline", responses=problems(404))
async def get_timeline(message_id: MessageIdPath, caller: CurrentCaller, world: CurrentWorld) -> Timeline:
    """Oldest first; `kind` is one word. `why` is one line with the current state and what happens next."""
    life = await _life(caller, message_id, world)
    updates = [(each.received_at, each.kind, status_details(each.body)) for each in life.statuses]
    known, now = await circumstances(life.message, world), world.clock.now()
    moments = timeline(life.message, list(life.attempts), updates, list(life.events), known.answers)
    return timeline_view(moments, why(life.message, known, now), next_at(life.message, known, now))


@get("/messages", summary="The newest messages", responses=problems(400))
async def list_messages(
    caller: CurrentCaller,
    world: CurrentWorld,
    dossier_id: DossierIdFilter = None,
    status: Annotated[Status | None, QueryParameter(required=False)] = None,
    to: Annotated[str | None, QueryParameter(max_length=254, required=False)] = None,
    before: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST_ID, required=False, description="Only ids below this one")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> list[MessageView]:
    """Newest first; for the next page, pass the last id as `before`."""
    below = None if before is None else MessageId(before)
    query = Query(dossier_id=dossier_id, status=status, recipient=await _recipient(to, caller, world), before=below)
    return await messages_with_deferrals(await messages.find(caller.org_id, query, limit, world), world)


async def _recipient(to: str | None, caller: Caller, world: World) -> str | None:
    if to is None:
        return None
    if "@" in to and (address := email.address(to)) is not None:
        return address
    if recipient.is_user_id(to):
        return to
    region = (await world.policies.of(caller.org_id)).default_region
    number = recipient.phone(to if to.lstrip().startswith("+") else to.strip(), region)
    if number is None:
        raise Problem(
            400,
            "invalid_parameter",
            "to must be a phone number, with + written as %2B in a URL, a user id, or an email address",
            field="to",
        )
    return number


@get("/messages/paginated", summary="Messages page by page", responses=problems(400))
async def page_messages(
    caller: CurrentCaller,
    world: CurrentWorld,
    dossier_id: DossierIdFilter = None,
    page: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    size: Annotated[int, QueryParameter(ge=1, le=1000)] = 20,
    sort: Annotated[Literal["createdAt"], QueryParameter()] = "createdAt",  # noqa: ARG001  # the only supported order
    direction: Annotated[Literal["ASC", "DESC", "asc", "desc"], QueryParameter()] = "DESC",
) -> MessagePage:
    ascending = direction.upper() == "ASC"
    query = PageQuery(dossier_id=dossier_id, page=page, size=size, ascending=ascending)
    found = await messages.page(caller.org_id, query, world)
    return MessagePage(
        content=await messages_with_deferrals(found.messages, world),
        page=page,
        size=size,
        total_elements=found.total,
        total_pages=-(-found.total // size),
    )


@post(
    "/messages/{message_id:int}/retry",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Send a failed or cancelled message again",
    responses=problems(404, 409),
)
async def retry_message(message_id: MessageIdPath, caller: CurrentCaller, world: CurrentWorld) -> MessageView:
    """Starts a new generation: attempts are counted from 0, due now."""
    changed = await messages.retry(caller.org_id, _possible(message_id), world, actor_of(caller))
    return await _changed(changed, message_id, "not_retryable", world)


@post(
    "/messages/{message_id:int}/cancel",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Cancel a queued message",
    responses=problems(404, 409),
)
async def cancel_message(message_id: MessageIdPath, caller: CurrentCaller, world: CurrentWorld) -> MessageView:
    changed = await messages.cancel(caller.org_id, _possible(message_id), world, actor_of(caller))
    return await _changed(changed, message_id, "not_cancellable", world)


_ALLOWED = {
    "not_retryable": "FAILED, CANCELLED or parked ones can be retried",
    "not_cancellable": "QUEUED ones can be cancelled",
}


async def _changed(changed: MessageChangeResult, message_id: int, code: str, world: CurrentWorld) -> MessageView:
    if isinstance(changed, MessageChanged):
        return await changed_view(changed.message, world)
    if isinstance(changed, NotAllowed):
        status = changed.message.delivery.status.value
        raise Problem(409, code, f"message {message_id} is {status}: only {_ALLOWED[code]}")
    raise _no_message(message_id)


router = Router(
    "/api/v1/outbound",
    dependencies={"caller": Provide(reader)},
    tags=["Outbound"],
    route_handlers=[
        create_message,
        list_messages,
        page_messages,
        get_message,
        get_attempts,
        get_timeline,
        retry_message,
        cancel_message,
    ],
)
