"""`waypost admin …` of conversations: find and read them, give the floor, let the bot answer after all."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from msgspec import UNSET

from waypost.flow import inbox, post, turns
from waypost.flow.submit import Refusal
from waypost.flow.world import World
from waypost.http.conversation_views import chat_message
from waypost.model.account import Caller, Role
from waypost.model.audit import OPERATOR
from waypost.model.chat import ShownTalk, WorkChange
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId, UserId
from waypost.ports.chats import NoChat
from waypost.ports.lanes import NoConversation
from waypost.rules import people
from waypost.rules.customers import customer as known_as
from waypost.rules.entry_ids import LARGEST_CONVERSATION, LARGEST_POSITION
from waypost.rules.lane import LeaseLost
from waypost.rules.recipient import Unreadable, is_user_id
from waypost.runtime.cli import Failed
from waypost.runtime.tables import Json, Org, of_known, table
from waypost.runtime.turns_table import who

Conversation = Annotated[
    int, typer.Argument(metavar="CONVERSATION", min=1, max=LARGEST_CONVERSATION, help="The conversation's id.")
]


NOBODY = "nobody"


def register(admin: typer.Typer) -> None:
    admin.command("conversations")(conversations)
    admin.command("messages")(messages)
    admin.command("floor")(floor)
    admin.command("change-conversation")(change_conversation)
    admin.command("note")(note)
    admin.command("replay-turn")(replay_turn)


def conversations(
    org: Org,
    customer: Annotated[str, typer.Argument(help="The customer's phone number or user id.")],
    json: Json = False,
) -> None:
    """List the conversations with a customer, one for each number that they wrote to."""

    async def find(world: World) -> list[inbox.Shown] | Unreadable:
        if is_user_id(customer):
            return await inbox.at(_operator(org), f"user:{customer}", world)
        return await inbox.at_phone(_operator(org), customer, world)

    found = of_known(org, find)
    if isinstance(found, Unreadable):
        raise Failed(f"{customer[:40]}: {found.reason}")
    rows = []
    for shown in found:
        if isinstance(shown.talk, ShownTalk):
            of = shown.talk.conversation
            rows.append([str(of.id), of.number, who(known_as(of, shown.contact)), shown.talk.floor, str(of.position)])
    table(["conversation_id", "phone_number_id", "contact", "floor", "messages"], rows, as_json=json)


def messages(
    org: Org,
    conversation: Conversation,
    before: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_POSITION, help="Only positions below this one.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    json: Json = False,
) -> None:
    """Read what was said in a conversation, newest first."""
    below = None if before is None else Position(before)
    where = ConversationId(conversation)
    page = of_known(org, lambda world: inbox.history(_operator(org), where, below, limit, world))
    if isinstance(page, NoChat):
        raise _missing(org, conversation)
    rows = []
    for view in map(chat_message, page.said):
        said = people.words(view.content) or f"({view.content.get('type')})"
        moment = f"{view.timestamp:%Y-%m-%d %H:%M:%S}"
        rows.append([str(view.position), moment, view.sender_id, said, view.status or "", view.message_id])
    table(["position", "timestamp", "sender_id", "said", "status", "message_id"], rows, as_json=json)


def floor(
    org: Org,
    conversation: Conversation,
    to: Annotated[Literal["bot", "human"], typer.Option(help="Who answers from now on.")],
) -> None:
    """Let a person answer instead of the bot, or the bot again."""
    where = ConversationId(conversation)
    given = of_known(org, lambda world: turns.put_floor(OrgId(org), where, to, OPERATOR, world))
    if isinstance(given, NoConversation):
        raise _missing(org, conversation)
    sys.stdout.write(f"conversation {conversation}: the floor is {given.floor}\n")


def change_conversation(
    org: Org,
    conversation: Conversation,
    assignee: Annotated[str | None, typer.Option(help="The user who works on it; `nobody` takes it away.")] = None,
    state: Annotated[Literal["open", "closed"] | None, typer.Option(help="Open, or closed until they write.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Its labels from now on; may be given several times.")] = None,
) -> None:
    """Assign, close or label a customer's conversation."""
    change = WorkChange(
        assignee=UNSET if assignee is None else None if assignee == NOBODY else UserId(assignee),
        state=UNSET if state is None else state,
        labels=tuple(label) if label else UNSET,
    )
    where = ConversationId(conversation)
    changed = of_known(org, lambda world: inbox.work(_operator(org), where, change, world))
    if isinstance(changed, NoChat):
        raise _missing(org, conversation)
    if isinstance(changed, inbox.UnknownPeople):
        raise Failed(f"org {org} has no person {assignee}: `waypost admin users {org}` lists them")
    worker, labels = changed.assignee or NOBODY, ", ".join(changed.labels) or "none"
    sys.stdout.write(f"conversation {conversation}: {changed.state}, assigned to {worker}, labels: {labels}\n")


def note(
    org: Org, conversation: Conversation, text: Annotated[str, typer.Argument(help="What only the team reads.")]
) -> None:
    """Write a note into a customer's conversation."""
    where = ConversationId(conversation)
    noted = of_known(org, lambda world: post.note(text, where, _operator(org), world))
    if isinstance(noted, NoChat):
        raise _missing(org, conversation)
    if isinstance(noted, Refusal):
        raise Failed(f"{noted.field} {noted.reason}")
    sys.stdout.write(f"conversation {conversation}: noted as message {noted.position}\n")


def replay_turn(
    org: Org,
    conversation: Conversation,
    position: Annotated[
        int, typer.Argument(min=1, max=LARGEST_POSITION, help="Of the burst's last message, as `turns --failed` says.")
    ],
) -> None:
    """Let the bot answer a burst that was given up."""
    where, hi = ConversationId(conversation), Position(position)
    reopened = of_known(org, lambda world: turns.replay(OrgId(org), where, hi, OPERATOR, world))
    if isinstance(reopened, NoConversation):
        raise Failed(f"org {org} has no such turn: `waypost turns {org} --failed` lists those that were given up")
    if isinstance(reopened, LeaseLost):
        raise Failed("it was answered or waits for its answer, or something was answered in the conversation since")
    sys.stdout.write(f"conversation {conversation}: the bot answers it now\n")


def _operator(org: str) -> Caller:
    """Whoever has the machine sees an org's customers as its admin does."""
    return Caller(org_id=OrgId(org), role=Role.ADMIN)


def _missing(org: str, conversation: int) -> Failed:
    return Failed(f"org {org} has no conversation {conversation}: `waypost admin conversations {org} PHONE` finds them")
