"""Queue statistics in a running server: waiting messages show in /metrics, and provider trouble is logged."""

from __future__ import annotations

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import MESSAGES, ON_SQLITE
from waypost.flow.operations.maintenance import SURVEY_EVERY
from waypost.model.time import seconds


@ON_SQLITE
async def test_what_is_held_shows_in_the_figures_within_seconds(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="ignore")
    await stage.call("PATCH", "/api/v1/numbers/1001", {"enabled": False})
    await stage.send()
    stage.manual.advance(SURVEY_EVERY)
    name = 'outbound_queue_messages{org="acme",reason="hold"}'

    async def shown() -> bool:
        stage.manual.advance(seconds(1))
        return await stage.metric(name) == 1

    assert await stage.eventually(shown)
    assert await stage.metric('outbound_gates_closed{code="NUMBER_DISABLED",kind="disabled"}') == 1
    assert await stage.metric("outbound_queue_oldest_seconds") > 0
    assert len(await stage.get(MESSAGES)) == 1


@ON_SQLITE
async def test_unknown_codes_and_lost_answers_are_counted(set_up: OpenStage) -> None:
    stage = await set_up(outbound_window="ignore")
    await stage.fault(error_code=987654, times=1)
    first = await stage.send()
    await stage.becomes(first["id"], "QUEUED", errorCode="987654")
    assert await stage.metric('outbound_unknown_error_code_total{error_code="987654"}') == 1
    stage.manual.advance(seconds(1))
    await stage.fault(raw_status=502, times=1)
    await stage.unsure(to="+15550002222")
    assert await stage.metric("outbound_provider_unreachable_total") == 1
