"""Python functions that a model may call: their description for the model, and their execution."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, get_type_hints

import msgspec

from waypost.model.turn import Handover, Turn
from waypost.rules.text.redact import redact

ToolFunction: TypeAlias = Callable[..., Awaitable[Any]]

LONGEST_RESULT = 20_000
"""Characters of a result that go to the model."""
_LONGEST_NAME = 64
_TURN = "turn"
"""We fill in a parameter of this name: the model must not choose whose turn it is."""


class InvalidTool(Exception):
    """A registered object cannot be a tool; the message says why."""


class Tool(msgspec.Struct, frozen=True):
    name: str
    description: str
    function: ToolFunction
    arguments: type[msgspec.Struct]
    takes_turn: bool

    def as_parameter(self) -> dict[str, Any]:
        """The tool in the API's format."""
        parameters = _schema(self.arguments)
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


async def hand_over(reason: str = "") -> Handover:
    """Let a person of the business answer: when you cannot help, or the customer asks for a person."""
    return Handover(reason)


def tools_of(functions: object) -> Mapping[str, Tool]:
    """The configured tools and our own, by name; raises InvalidTool."""
    if not isinstance(functions, Sequence) or isinstance(functions, str):
        raise InvalidTool("must be a list of async functions")
    found: dict[str, Tool] = {}
    for function in (hand_over, *functions):
        tool = _tool(function)
        if tool.name in found:
            raise InvalidTool(
                f"has two tools named {tool.name}"
                if tool.name != "hand_over"
                else "may not have a hand_over of its own"
            )
        found[tool.name] = tool
    return found


def _tool(function: Any) -> Tool:
    name = getattr(function, "__name__", repr(function))
    if not inspect.iscoroutinefunction(function):
        raise InvalidTool(f"{name} is not an async function")
    if not name.isascii() or len(name) > _LONGEST_NAME or not name.isidentifier():
        raise InvalidTool(f"{name} must have a name of at most {_LONGEST_NAME} plain letters")
    description = inspect.getdoc(function)
    if not description:
        raise InvalidTool(f"{name} has no docstring, which describes it to the model")
    try:
        hints = get_type_hints(function, include_extras=True)
        fields = _fields(inspect.signature(function), hints, name)
        arguments = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
        _schema(arguments)
    except (NameError, TypeError) as error:
        raise InvalidTool(f"{name}: {error}") from error
    return Tool(name, description, function, arguments, _TURN in inspect.signature(function).parameters)


def _fields(signature: inspect.Signature, hints: dict[str, Any], name: str) -> list[Any]:
    fields: list[Any] = []
    for parameter in signature.parameters.values():
        if parameter.name == _TURN:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidTool(f"{name}: {parameter} cannot be named in a call")
        if parameter.name not in hints:
            raise InvalidTool(f"{name}: {parameter.name} has no type hint")
        default = () if parameter.default is parameter.empty else (parameter.default,)
        fields.append((parameter.name, hints[parameter.name], *default))
    return fields


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    (reference,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    schema = components.pop(str(reference["$ref"]).rpartition("/")[2])
    schema.pop("title", None)
    return {**schema, "$defs": components} if components else schema


async def carry_out(tools: Mapping[str, Tool], name: str, arguments: str, turn: Turn) -> str | Handover:
    """The result for the model; an error is returned as text, so that the model can correct the call."""
    tool = tools.get(name)
    if tool is None:
        return f"error: there is no tool {name!r}"
    try:
        given = msgspec.json.decode(arguments or "{}", type=tool.arguments)
        result = await tool.function(**_named(given), **({_TURN: turn} if tool.takes_turn else {}))
        if isinstance(result, Handover):
            return result
        return (result if isinstance(result, str) else msgspec.json.encode(result).decode())[:LONGEST_RESULT]
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything, and the turn continues
        return redact(f"error: {type(error).__name__}: {error}")


def _named(given: msgspec.Struct) -> dict[str, Any]:
    """Unlike `asdict`, keeps nested values as decoded."""
    return {field: getattr(given, field) for field in given.__struct_fields__}
