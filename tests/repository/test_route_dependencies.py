"""A route's dependencies are resolved in a fixed order, so that a seed is the same run in every process."""

from __future__ import annotations

from typing import cast

from litestar import Litestar
from litestar.routes import HTTPRoute

from waypost.http.app import api


def test_no_route_has_two_things_found_at_once() -> None:
    """Litestar starts a task for each of them in the order of a set of strings, which differs per process."""
    routes = [route for route in cast(Litestar, api()).routes if isinstance(route, HTTPRoute)]
    models = [(route.path, model) for route in routes for _, model in route.route_handler_map.values()]
    at_once = [
        (path, sorted(needed.key for needed in batch))
        for path, model in models
        for batch in model.dependency_batches
        if len(batch) > 1
    ]
    assert at_once == []
    assert len(models) > 100
