"""Checks for JSON values; each returns the error, or None."""

from __future__ import annotations

from typing import Any

from waypost.sandbox.edge.graph_errors import GraphError, bad_parameter, invalid, missing

Json = dict[str, Any]


def object_at(holder: Json, key: str, where: str = "") -> Json | GraphError:
    value = holder.get(key)
    if value is None:
        return missing(where + key)
    return value if isinstance(value, dict) else invalid(where + key, "must be an object")


def list_at(holder: Json, key: str, where: str, most: int) -> list[Json] | GraphError:
    """A list of one to `most` objects."""
    value = holder.get(key)
    if value is None:
        return missing(where + key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return invalid(where + key, "must be a list of objects")
    if not 1 <= len(value) <= most:
        return invalid(where + key, f"must have between 1 and {most} items, not {len(value)}")
    return value


def wrong_text(holder: Json, key: str, where: str, most: int | None = None) -> GraphError | None:
    """Requires a non-empty string."""
    if holder.get(key) in (None, ""):
        return missing(where + key)
    return wrong_optional_text(holder, key, where, most)


def wrong_optional_text(holder: Json, key: str, where: str, most: int | None = None) -> GraphError | None:
    value = holder.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        return invalid(where + key, "must be a string")
    if most is not None and len(value) > most:
        return invalid(where + key, f"must be at most {most} characters long, not {len(value)}")
    return None


def wrong_link(holder: Json, key: str, where: str) -> GraphError | None:
    if wrong := wrong_text(holder, key, where):
        return wrong
    is_link = holder[key].startswith(("http://", "https://"))
    return None if is_link else invalid(where + key, "must be an http or https address")


def wrong_choice(holder: Json, key: str, where: str, choices: tuple[str, ...]) -> GraphError | None:
    if wrong := wrong_text(holder, key, where):
        return wrong
    return None if holder[key] in choices else invalid(where + key, f"must be one of {', '.join(choices)}")


def wrong_flag(holder: Json, key: str, where: str) -> GraphError | None:
    fine = isinstance(holder.get(key), bool | None)
    return None if fine else invalid(where + key, "must be true or false")


def repeated(values: list[str], where: str) -> GraphError | None:
    return None if len(dict.fromkeys(values)) == len(values) else invalid(where, "must be unique")


def unexpected_key(holder: Json, known: tuple[str, ...], where: str) -> GraphError | None:
    for key in holder:
        if key not in known:
            return bad_parameter(f'Unexpected key "{key}" on param "{where}".')
    return None
