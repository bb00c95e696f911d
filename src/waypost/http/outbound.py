"""/api/v1/outbound: messages out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from litestar import Response, Router, get, post
from litestar.di import Provide
from litestar.params import Body, HeaderParameter, PathParameter, QueryParameter

from waypost.flow import await_status, submit
from waypost.flow.audit import actor_of
from waypost.flow.await_status import Goal
from waypost.flow.read_back import circumstances, deferrals, deferrals_if_known, heads, heads_if_known
from waypost.flow.world import World
from waypost.http.context import Asking, Here, reader, writer
from waypost.http.documented import CREATED, MESSAGE_EXAMPLES, problems
from waypost.http.problems import Problem
from waypost.http.views import (
    AttemptView,
    CreateMessage,
    MessagePage,
    MessageView,
    Timeline,
    attempt_view,
    message_view,
    taken,
    timeline_view,
)
from waypost.model.account import Caller
from waypost.model.ids import MessageId
from waypost.model.message import Message, Status
from waypost.ports.hints import OUTBOX
from waypost.ports.messages import Life, PageQuery, Query
from waypost.ports.outbox import Changed, Done, NotAllowed
from waypost.rules import email, recipient
from waypost.rules.timeline import timeline
from waypost.rules.webhook import said
from waypost.rules.why import next_at, why

LARGEST_ID = 2**63 - 1
Id = Annotated[int, PathParameter(description="A message's id")]
Dossier = Annotated[int | None, QueryParameter(name="dossierId", ge=1, le=LARGEST_ID, required=False)]


@post(
    "/messages",
    dependencies={"caller": Provide(writer)},
    summary="Send a message",
    responses=problems(400, 404, 409, 413, 422) | CREATED,
)
async def create_message(
    data: Annotated[CreateMessage, Body(examples=MESSAGE_EXAMPLES)],
    caller: Asking,
    world: Here,
    wait: Annotated[Goal | None, QueryParameter(required=False, description="Wait for this status")] = None,
    key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key", max_length=255, required=False, description="Counts where the body names no key"
        ),
    ] = None,
) -> Response[MessageView]:
    """Store a message and send it. 201 when stored, 200 when the key was used before with the same content."""
    answer = await submit.submit(asked_for(data, key), caller.org_id, world, actor_of(caller))
    if isinstance(answer, submit.Refusal):
        raise refused(answer)
    status = 201 if answer.created else 200
    message = answer.message
    if wait is not None and not world.tuning.never_wait:
        waited = await await_status.await_status(caller.org_id, message.id, wait, world)
        message, status = waited.message, status if waited.reached else 202
    return Response(await changed_view(message, world), status_code=status)


async def changed_view(message: Message, world: Here) -> MessageView:
    """Of a message that was stored or changed by this very call."""
    deferred, first = await deferrals_if_known([message], world), await heads_if_known([message], world)
    return message_view(message, deferred.get(message.id), first.get(message.id))


async def read_back(message: Message, world: Here) -> MessageView:
    (view,) = await read_all_back([message], world)
    return view


async def read_all_back(messages: Sequence[Message], world: Here) -> list[MessageView]:
    """With the rule that each of them waits for, or whom it stands behind."""
    deferred, first = await deferrals(messages, world), await heads(messages, world)
    return [message_view(message, deferred.get(message.id), first.get(message.id)) for message in messages]


def asked_for(data: CreateMessage, header_key: str | None) -> submit.Request:
    return submit.Request(
        channel=data.channel,
        to=data.to,
        sender=data.sender,
        template=data.template_code,
        subject=data.subject,
        payload=data.payload_json,
        dossier_id=data.dossier_id,
        idempotency_key=data.idempotency_key if data.idempotency_key is not None else header_key,
        priority=data.priority,
        scheduled_at=taken(data.scheduled_at),
        expires_at=taken(data.expires_at),
        ordered=data.ordered,
        max_attempts=data.max_attempts,
    )


_STATUSES = {"idempotency_conflict": 409, "unknown_number": 404, "unknown_mailbox": 404}


def refused(refusal: submit.Refusal) -> Problem:
    status = _STATUSES.get(refusal.code, 422)
    return Problem(status, refusal.code, f"{refusal.field}: {refusal.reason}", field=refusal.field)


def _possible(message_id: int) -> MessageId:
    """The id, or 404 for a number that no message can have."""
    if not 0 < message_id <= LARGEST_ID:
        raise _no_message(message_id)
    return MessageId(message_id)


def _no_message(message_id: int) -> Problem:
    named = message_id if abs(message_id) <= LARGEST_ID else "with such a number"
    return Problem(404, "not_found", f"there is no message {named}")


async def _life(org: Asking, message_id: int, world: Here) -> Life:
    life = await world.ledger.messages.life(org.org_id, _possible(message_id))
    if life is None:
        raise _no_message(message_id)
    return life


@get("/messages/{message_id:int}", summary="A message and where it stands", responses=problems(404))
async def get_message(message_id: Id, caller: Asking, world: Here) -> MessageView:
    message = await world.ledger.messages.get(caller.org_id, _possible(message_id))
    if message is None:
        raise _no_message(message_id)
    return await read_back(message, world)


@get("/messages/{message_id:int}/attempts", summary="Every try of a message", responses=problems(404))
async def get_attempts(message_id: Id, caller: Asking, world: Here) -> list[AttemptView]:
    life = await _life(caller, message_id, world)
    return [attempt_view(attempt) for attempt in life.attempts]


@get("/messages/{message_id:int}/timeline", summary="The life of a message", responses=problems(404))
async def get_timeline(message_id: Id, caller: Asking, world: Here) -> Timeline:
    """Oldest first; `kind` is one word. `why` tells in one line where it stands and what happens next."""
    life = await _life(caller, message_id, world)
    reports = [(heard.received_at, heard.kind, said(heard.body)) for heard in life.reports]
    known, now = await circumstances(life.message, world), world.clock.now()
    moments = timeline(life.message, list(life.attempts), reports, list(life.events), known.answers)
    return timeline_view(moments, why(life.message, known, now), next_at(life.message, known, now))


@get("/messages", summary="The newest messages", responses=problems(400))
async def list_messages(
    caller: Asking,
    world: Here,
    dossier_id: Dossier = None,
    status: Annotated[Status | None, QueryParameter(required=False)] = None,
    to: Annotated[str | None, QueryParameter(max_length=254, required=False)] = None,
    before: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST_ID, required=False, description="Only ids below this one")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> list[MessageView]:
    """Newest first; the next page is what comes `before` the last id of this one."""
    below = None if before is None else MessageId(before)
    query = Query(dossier_id=dossier_id, status=status, recipient=await _recipient(to, caller, world), before=below)
    return await read_all_back(await world.ledger.messages.find(caller.org_id, query, limit), world)


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
    caller: Asking,
    world: Here,
    dossier_id: Dossier = None,
    page: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    size: Annotated[int, QueryParameter(ge=1, le=1000)] = 20,
    sort: Annotated[Literal["createdAt"], QueryParameter()] = "createdAt",  # noqa: ARG001  # the one order there is
    direction: Annotated[Literal["ASC", "DESC", "asc", "desc"], QueryParameter()] = "DESC",
) -> MessagePage:
    ascending = direction.upper() == "ASC"
    query = PageQuery(dossier_id=dossier_id, page=page, size=size, ascending=ascending)
    found = await world.ledger.messages.page(caller.org_id, query)
    return MessagePage(
        content=await read_all_back(found.messages, world),
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
async def retry_message(message_id: Id, caller: Asking, world: Here) -> MessageView:
    """A new generation: tries counted from 0, due now."""
    now = world.clock.now()
    changed = await world.ledger.outbox.retry(caller.org_id, _possible(message_id), now, actor_of(caller))
    return await _changed(changed, message_id, "not_retryable", world)


@post(
    "/messages/{message_id:int}/cancel",
    status_code=200,
    dependencies={"caller": Provide(writer)},
    summary="Stop a message that is still queued",
    responses=problems(404, 409),
)
async def cancel_message(message_id: Id, caller: Asking, world: Here) -> MessageView:
    now = world.clock.now()
    changed = await world.ledger.outbox.cancel(caller.org_id, _possible(message_id), now, actor_of(caller))
    return await _changed(changed, message_id, "not_cancellable", world)


_ALLOWED = {"not_retryable": "a FAILED, CANCELLED or parked one", "not_cancellable": "a QUEUED one"}


async def _changed(changed: Changed, message_id: int, code: str, world: Here) -> MessageView:
    if isinstance(changed, Done):
        world.hints.give([OUTBOX])
        return await changed_view(changed.message, world)
    if isinstance(changed, NotAllowed):
        status = changed.message.delivery.status.value
        raise Problem(409, code, f"message {message_id} is {status}: only {_ALLOWED[code]} can be")
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
