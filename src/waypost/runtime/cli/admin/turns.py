"""`waypost admin …` for conversations: find and read them, set the floor, replay a turn."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from msgspec import UNSET

from waypost.flow.conversations import inbox, post, turns
from waypost.flow.sending.submit import SubmitRefusal
from waypost.flow.world import World
from waypost.http.conversations.conversation_views import chat_message
from waypost.model.account import Caller, Role
from waypost.model.audit import OPERATOR
from waypost.model.chat import ConversationListItem, WorkChange
from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import OrgId, UserId
from waypost.ports.conversations.chats import ChatNotFound
from waypost.ports.conversations.turn_queue import NoConversation
from waypost.rules.content.recipient import InvalidPhone, is_user_id
from waypost.rules.conversations import message_text
from waypost.rules.conversations.customers import customer as known_as
from waypost.rules.conversations.entry_ids import LARGEST_CONVERSATION, LARGEST_POSITION
from waypost.rules.conversations.turn_state import LeaseLost
from waypost.runtime.cli.app import CommandFailed
from waypost.runtime.cli.tables import JsonOption, OrgArgument, of_known, table
from waypost.runtime.cli.turns_table import who

ConversationArgument = Annotated[
    int, typer.Argument(metavar="CONVERSATION", min=1, max=LARGEST_CONVERSATION, help="The conversation's id.")
]


UNASSIGNED = "nobody"


def register(admin: typer.Typer) -> None:
    admin.command("conversations")(conversations)
    admin.command("messages")(messages)
    admin.command("floor")(floor)
    admin.command("change-conversation")(change_conversation)
    admin.command("note")(note)
    admin.command("replay-turn")(replay_turn)


def conversations(
    org: OrgArgument,
    customer: Annotated[str, typer.Argument(help="The customer's phone number or user id.")],
    json: JsonOption = False,
) -> None:
    """List a customer's conversations, one for each number that they wrote to."""

    async def find(world: World) -> list[inbox.ShownConversation] | InvalidPhone:
        if is_user_id(customer):
            return await inbox.conversations_at_address(_operator(org), f"user:{customer}", world)
        return await inbox.conversations_at_phone(_operator(org), customer, world)

    found = of_known(org, find)
    if isinstance(found, InvalidPhone):
        raise CommandFailed(f"{customer[:40]}: {found.reason}")
    rows = []
    for shown in found:
        if isinstance(shown.listed, ConversationListItem):
            of = shown.listed.conversation
            rows.append([str(of.id), of.number, who(known_as(of, shown.contact)), shown.listed.floor, str(of.position)])
    table(["conversation_id", "phone_number_id", "contact", "floor", "messages"], rows, as_json=json)


def messages(
    org: OrgArgument,
    conversation: ConversationArgument,
    before: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_POSITION, help="Only positions below this one.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    json: JsonOption = False,
) -> None:
    """Show a conversation's messages, newest first."""
    below = None if before is None else Position(before)
    where = ConversationId(conversation)
    page = of_known(org, lambda world: inbox.history(_operator(org), where, below, limit, world))
    if isinstance(page, ChatNotFound):
        raise _missing(org, conversation)
    rows = []
    for view in map(chat_message, page.entries):
        text = message_text.words(view.content) or f"({view.content.get('type')})"
        moment = f"{view.timestamp:%Y-%m-%d %H:%M:%S}"
        rows.append([str(view.position), moment, view.sender_id, text, view.status or "", view.message_id])
    table(["position", "timestamp", "sender_id", "said", "status", "message_id"], rows, as_json=json)


def floor(
    org: OrgArgument,
    conversation: ConversationArgument,
    to: Annotated[Literal["bot", "human"], typer.Option(help="Who answers from now on.")],
) -> None:
    """Give the floor to a user, or back to the bot."""
    where = ConversationId(conversation)
    given = of_known(org, lambda world: turns.put_floor(OrgId(org), where, to, OPERATOR, world))
    if isinstance(given, NoConversation):
        raise _missing(org, conversation)
    sys.stdout.write(f"conversation {conversation}: the floor is {given.floor}\n")


def change_conversation(
    org: OrgArgument,
    conversation: ConversationArgument,
    assignee: Annotated[str | None, typer.Option(help="The user to assign it to; `nobody` unassigns it.")] = None,
    state: Annotated[
        Literal["open", "closed"] | None, typer.Option(help="open, or closed until the customer writes.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="Its new labels; may be given several times.")] = None,
) -> None:
    """Assign, close or label a customer's conversation."""
    change = WorkChange(
        assignee=UNSET if assignee is None else None if assignee == UNASSIGNED else UserId(assignee),
        state=UNSET if state is None else state,
        labels=tuple(label) if label else UNSET,
    )
    where = ConversationId(conversation)
    changed = of_known(org, lambda world: inbox.change_work(_operator(org), where, change, world))
    if isinstance(changed, ChatNotFound):
        raise _missing(org, conversation)
    if isinstance(changed, inbox.UnknownUsers):
        raise CommandFailed(f"org {org} has no person {assignee}: `waypost admin users {org}` lists them")
    worker, labels = changed.assignee or UNASSIGNED, ", ".join(changed.labels) or "none"
    sys.stdout.write(f"conversation {conversation}: {changed.state}, assigned to {worker}, labels: {labels}\n")


def note(
    org: OrgArgument,
    conversation: ConversationArgument,
    text: Annotated[str, typer.Argument(help="The text, which only the team reads.")],
) -> None:
    """Add a note to a customer conversation."""
    where = ConversationId(conversation)
    noted = of_known(org, lambda world: post.note(text, where, _operator(org), world))
    if isinstance(noted, ChatNotFound):
        raise _missing(org, conversation)
    if isinstance(noted, SubmitRefusal):
        raise CommandFailed(f"{noted.field} {noted.reason}")
    sys.stdout.write(f"conversation {conversation}: noted as message {noted.position}\n")


def replay_turn(
    org: OrgArgument,
    conversation: ConversationArgument,
    position: Annotated[
        int,
        typer.Argument(
            min=1, max=LARGEST_POSITION, help="Position of the burst's last message, as `turns --failed` shows it."
        ),
    ],
) -> None:
    """Let the bot answer a failed burst again."""
    where, hi = ConversationId(conversation), Position(position)
    reopened = of_known(org, lambda world: turns.replay(OrgId(org), where, hi, OPERATOR, world))
    if isinstance(reopened, NoConversation):
        raise CommandFailed(f"org {org} has no such turn: `waypost turns {org} --failed` lists the failed ones")
    if isinstance(reopened, LeaseLost):
        raise CommandFailed("the burst was answered, is waiting for its answer, or a later message was answered")
    sys.stdout.write(f"conversation {conversation}: the bot answers it now\n")


def _operator(org: str) -> Caller:
    """The operator of the machine sees an org's customers as its admin does."""
    return Caller(org_id=OrgId(org), role=Role.ADMIN)


def _missing(org: str, conversation: int) -> CommandFailed:
    return CommandFailed(
        f"org {org} has no conversation {conversation}: `waypost admin conversations {org} PHONE` finds them"
    )
