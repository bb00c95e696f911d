"""Python functions become tools: how they are described to the model, what it may call, and what fails."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from waypost.adapters.openai.tools import LONGEST_RESULT, InvalidTool, carry_out, tools_of
from waypost.model.turn import Handover, Turn
from waypost_testing.contracts.conversations.bot import a_turn

TURN = a_turn("hello")


class Item(msgspec.Struct):
    name: str
    count: int = 1


async def order_status(order: Annotated[int, msgspec.Meta(description="Its number")], language: str = "en") -> str:
    """Where an order is."""
    return f"{order} is on its way ({language})"


async def put_in_cart(items: list[Item], size: Literal["S", "M"] = "M") -> dict[str, Any]:
    """Put items into the customer's cart."""
    return {"items": [item.name for item in items], "size": size}


async def who(turn: Turn) -> str | None:
    """Who asks."""
    return turn.contact.name


async def broken() -> str:
    """Always fails."""
    raise RuntimeError("password=hunter22hunter22 is wrong")


async def give_up(why: str) -> Handover:
    """Give up."""
    return Handover(why)


async def endless() -> str:
    """Never ends."""
    return "x" * 100_000


async def unsayable() -> object:
    """Returns what JSON cannot say."""
    return object()


TOOLS = tools_of([order_status, put_in_cart, who, broken, give_up, endless, unsayable])


def test_a_function_is_told_by_its_name_its_docstring_and_its_hints() -> None:
    assert TOOLS["order_status"].as_parameter() == {
        "type": "function",
        "function": {
            "name": "order_status",
            "description": "Where an order is.",
            "parameters": {
                "type": "object",
                "properties": {
                    "order": {"type": "integer", "description": "Its number"},
                    "language": {"type": "string", "default": "en"},
                },
                "required": ["order"],
                "additionalProperties": False,
            },
        },
    }


def test_types_inside_types_come_along() -> None:
    parameters = TOOLS["put_in_cart"].as_parameter()["function"]["parameters"]
    assert parameters["properties"]["items"] == {"type": "array", "items": {"$ref": "#/$defs/Item"}}
    assert parameters["$defs"]["Item"]["required"] == ["name"]


def test_the_turn_is_ours_to_give() -> None:
    assert TOOLS["who"].as_parameter()["function"]["parameters"]["properties"] == {}


def test_handing_over_is_always_among_them() -> None:
    assert list(tools_of([])) == ["hand_over"]


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("order_status", '{"order": 7}', "7 is on its way (en)"),
        ("order_status", '{"order": 7, "language": "de"}', "7 is on its way (de)"),
        ("put_in_cart", '{"items": [{"name": "tea"}]}', '{"items":["tea"],"size":"M"}'),
        ("who", "", "Ada"),
        ("who", "{}", "Ada"),
        ("give_up", '{"why": "no idea"}', Handover("no idea")),
        ("hand_over", '{"reason": "angry"}', Handover("angry")),
        ("hand_over", "{}", Handover("")),
        ("no_such", "{}", "error: there is no tool 'no_such'"),
        ("broken", "{}", "error: RuntimeError: password=[token] is wrong"),
        ("order_status", "{}", "error: ValidationError: Object missing required field `order`"),
        ("order_status", '{"order": "x"}', "error: ValidationError: Expected `int`, got `str` - at `$.order`"),
        ("order_status", '{"order": 7, "by": 1}', "error: ValidationError: Object contains unknown field `by`"),
        ("order_status", '{"order"', "error: DecodeError: Input data was truncated"),
        ("endless", "{}", "x" * LONGEST_RESULT),
        ("unsayable", "{}", "error: TypeError: Encoding objects of type object is unsupported"),
    ],
)
async def test_a_call_is_carried_out_and_a_mistake_is_told(name: str, arguments: str, result: object) -> None:
    assert await carry_out(TOOLS, name, arguments, TURN) == result


async def hand_over(reason: str) -> None:
    """Not ours."""


async def undocumented(order: int) -> None: ...


async def unhinted(order) -> None:  # type: ignore[no-untyped-def] # the mistake under test
    """No hint."""


async def many(*orders: int) -> None:
    """Any number."""


async def odd(order: asyncio.Lock) -> None:  # type: ignore[name-defined] # noqa: F821 - the mistake under test
    """A type that is not there."""


def plain(order: int) -> None:
    """Not async."""


@pytest.mark.parametrize(
    ("functions", "why"),
    [
        (order_status, "must be a list of async functions"),
        ("order_status", "must be a list of async functions"),
        ([plain], "plain is not an async function"),
        ([5], "5 is not an async function"),
        ([undocumented], "undocumented has no docstring, which describes it to the model"),
        ([unhinted], "unhinted: order has no type hint"),
        ([many], "many: *orders: 'int' cannot be named in a call"),
        ([odd], "odd: name 'asyncio' is not defined"),
        ([hand_over], "may not have a hand_over of its own"),
        ([who, who], "has two tools named who"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_a_reason(functions: object, why: str) -> None:
    with pytest.raises(InvalidTool) as refused:
        tools_of(functions)
    assert str(refused.value) == why
