"""The state machine of a message: its drawing, its table, and what no order of events can break."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waypost.model.ids import Fence, MessageId, NumberId, OrgId, Wamid, WorkerId
from waypost.model.message import AttemptStatus, Delivery, Status
from waypost.model.time import Instant, minutes, seconds
from waypost.model.webhook import StatusKind, StatusUpdate
from waypost.rules.sending import delivery as rules
from waypost.rules.sending.delivery import (
    MOVES,
    TERMINAL,
    Accept,
    DeliveryTransition,
    DeliveryVerdict,
    Expire,
    GiveUp,
    StayUnsure,
    TryAgain,
    Unsettled,
)

T0 = Instant(1_760_000_000_000_000)
WORKER = WorkerId("worker")
WAMID = Wamid("wamid.A")


def a_delivery(status: Status = Status.QUEUED, **fields: object) -> Delivery:
    fresh = Delivery(
        message_id=MessageId(1),
        org_id=OrgId("acme"),
        status=Status.QUEUED,
        generation=1,
        fence=Fence(0),
        first_fence=Fence(0),
        tries=0,
        due_at=T0,
        owner=None,
        claimed_at=None,
        open_at_claim=0,
        parked=False,
        provider_id=None,
        error_code=None,
        error_message=None,
        sent_at=None,
        delivered_at=None,
        read_at=None,
        updated_at=T0,
    )
    return replace(REACH[status](fresh), **fields)


def claimed(delivery: Delivery) -> Delivery:
    return rules.claim(delivery, WORKER, 0, T0)


def settled(delivery: Delivery, verdict: DeliveryVerdict) -> Delivery:
    return rules.settle(delivery, delivery.fence, verdict, T0)


def a_status(kind: StatusKind, at: Instant = T0, wamid: Wamid = WAMID, **fields: object) -> StatusUpdate:
    report = StatusUpdate(
        org_id=OrgId("acme"),
        number=NumberId("1"),
        wamid=wamid,
        kind=kind,
        participant="",
        at=at,
        recipient="+49",
        echo=None,
        error_code=None,
        error_message=None,
        body="{}",
    )
    return replace(report, **fields)


ACCEPT = Accept(WAMID, "{}")
GIVE_UP = GiveUp("131026", "undeliverable", None)
TRY_AGAIN = TryAgain(Instant(T0 + minutes(1)), "131000", "oops", None)
UNSURE = StayUnsure("timeout", None)

REACH: dict[Status, Callable[[Delivery], Delivery]] = {
    Status.QUEUED: lambda d: d,
    Status.SENDING: claimed,
    Status.SENT: lambda d: settled(claimed(d), ACCEPT),
    Status.DELIVERED: lambda d: rules.apply_status(claimed(d), Fence(1), a_status(StatusKind.DELIVERED), T0),
    Status.FAILED: lambda d: settled(claimed(d), GIVE_UP),
    Status.CANCELLED: lambda d: rules.cancel(d, T0),
}


class TestMoves:
    def test_every_move_is_made_from_somewhere(self) -> None:
        assert {move for _, move in MOVES} == set(DeliveryTransition)

    def test_every_state_is_reached(self) -> None:
        assert {status: a_delivery(status).status for status in Status} == {status: status for status in Status}

    @pytest.mark.parametrize("status", [Status.SENDING, Status.SENT, *sorted(TERMINAL)])
    def test_only_a_queued_message_is_claimed(self, status: Status) -> None:
        before = a_delivery(status)
        assert claimed(before) is before

    def test_a_claim_takes_the_next_fence(self) -> None:
        after = rules.claim(a_delivery(fence=Fence(7), tries=2), WORKER, 55, T0)
        assert (after.status, after.fence, after.tries) == (Status.SENDING, 8, 3)
        assert (after.owner, after.open_at_claim, after.claimed_at, after.due_at) == (WORKER, 55, T0, None)

    @pytest.mark.parametrize(
        ("verdict", "status"),
        [
            (ACCEPT, Status.SENT),
            (TRY_AGAIN, Status.QUEUED),
            (GIVE_UP, Status.FAILED),
            (UNSURE, Status.SENDING),
            (Expire(), Status.CANCELLED),
        ],
        ids=lambda value: type(value).__name__ if not isinstance(value, Status) else value,
    )
    def test_each_verdict_on_a_try_under_way(self, verdict: DeliveryVerdict, status: Status) -> None:
        assert settled(a_delivery(Status.SENDING), verdict).status is status

    @pytest.mark.parametrize("verdict", [TRY_AGAIN, GIVE_UP, UNSURE, Expire()], ids=lambda v: type(v).__name__)
    def test_a_verdict_with_an_old_fence_changes_nothing(self, verdict: DeliveryVerdict) -> None:
        before = a_delivery(Status.SENDING, fence=Fence(2))
        assert rules.settle(before, Fence(1), verdict, T0) is before

    @pytest.mark.parametrize(
        ("verdict", "status"),
        [
            (ACCEPT, AttemptStatus.SUCCESS),
            (TRY_AGAIN, AttemptStatus.FAILED),
            (GIVE_UP, AttemptStatus.FAILED),
            (Expire(), AttemptStatus.FAILED),
            (UNSURE, AttemptStatus.UNSURE),
        ],
        ids=lambda value: type(value).__name__ if not isinstance(value, AttemptStatus) else value,
    )
    def test_each_verdict_ends_its_attempt(self, verdict: DeliveryVerdict, status: AttemptStatus) -> None:
        assert rules.attempt_status(verdict) is status

    @pytest.mark.parametrize(("fence", "counts"), [(0, False), (3, False), (4, True), (5, True), (6, False)])
    def test_evidence_counts_for_tries_of_this_generation_only(self, fence: int, counts: bool) -> None:
        before = a_delivery(Status.SENDING, first_fence=Fence(3), fence=Fence(5))
        assert (rules.accept(before, Fence(fence), WAMID, T0) is not before) is counts
        assert (rules.apply_status(before, Fence(fence), a_status(StatusKind.READ), T0) is not before) is counts

    @pytest.mark.parametrize(
        ("start", "kind", "end"),
        [
            (start, kind, MOVES.get((start, move), start))
            for start in Status
            for kind, move in [
                (StatusKind.SENT, DeliveryTransition.ACCEPT),
                (StatusKind.DELIVERED, DeliveryTransition.DELIVER),
                (StatusKind.READ, DeliveryTransition.DELIVER),
                (StatusKind.PLAYED, DeliveryTransition.DELIVER),
                (StatusKind.FAILED, DeliveryTransition.FAIL),
            ]
        ],
    )
    def test_each_status_from_each_state(self, start: Status, kind: StatusKind, end: Status) -> None:
        before = a_delivery(start, fence=Fence(1))
        assert rules.apply_status(before, Fence(1), a_status(kind), T0).status is end

    def test_a_failure_of_another_wamid_than_the_accepted_one_changes_nothing(self) -> None:
        before = a_delivery(Status.SENT)
        assert rules.apply_status(before, Fence(1), a_status(StatusKind.FAILED, wamid=Wamid("other")), T0) is before

    def test_no_step_is_stamped_before_the_one_below_it(self) -> None:
        sent = a_delivery(Status.SENT, sent_at=Instant(T0 + seconds(1.5)))
        read = rules.apply_status(
            sent, Fence(1), a_status(StatusKind.READ, at=Instant(T0 + seconds(1))), Instant(T0 + seconds(9))
        )
        assert read.sent_at is not None
        assert read.sent_at <= (read.delivered_at or 0) <= (read.read_at or 0)


class TestGivingUp:
    @pytest.mark.parametrize(
        ("policy", "tries", "parked"),
        [
            (Unsettled.REQUEUE, 1, False),
            (Unsettled.REQUEUE, 5, False),
            (Unsettled.REQUEUE, 6, True),
            (Unsettled.PARK, 1, True),
        ],
    )
    def test_an_unsettled_try_is_queued_again_or_parked(self, policy: Unsettled, tries: int, parked: bool) -> None:
        after = rules.give_up_waiting(a_delivery(Status.SENDING, tries=tries), policy, 5, T0)
        assert (after.parked, after.status) == (parked, Status.SENDING if parked else Status.QUEUED)

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.SENDING])
    def test_what_is_not_being_sent_is_left_alone(self, status: Status) -> None:
        before = a_delivery(status)
        assert rules.give_up_waiting(before, Unsettled.REQUEUE, 5, T0) is before

    def test_a_parked_one_stays_parked(self) -> None:
        before = a_delivery(Status.SENDING, parked=True)
        assert rules.give_up_waiting(before, Unsettled.REQUEUE, 5, T0) is before


class TestByHand:
    @pytest.mark.parametrize("status", Status)
    def test_only_what_is_queued_may_be_cancelled(self, status: Status) -> None:
        before = a_delivery(status)
        assert rules.may_cancel(before) is (status is Status.QUEUED)
        assert (rules.cancel(before, T0) is not before) is (status is Status.QUEUED)

    @pytest.mark.parametrize("status", Status)
    @pytest.mark.parametrize("parked", [True, False])
    def test_only_what_is_over_or_parked_may_be_retried(self, status: Status, parked: bool) -> None:
        before = a_delivery(status, parked=parked and status is Status.SENDING)
        allowed = status in (Status.FAILED, Status.CANCELLED) or before.parked
        assert rules.may_retry(before) is allowed
        assert (rules.reopen(before, T0) is not before) is allowed

    def test_a_new_generation_starts_from_nothing_but_keeps_its_fence(self) -> None:
        failed = a_delivery(Status.FAILED)
        after = rules.reopen(failed, Instant(T0 + 1))
        assert (after.status, after.generation, after.tries, after.due_at) == (Status.QUEUED, 2, 0, T0 + 1)
        assert (after.fence, after.first_fence) == (failed.fence, failed.fence)
        assert (after.provider_id, after.error_code, after.sent_at, after.delivered_at) == (None,) * 4


LEVEL = {Status.QUEUED: 0, Status.SENDING: 0, Status.SENT: 1, **dict.fromkeys(TERMINAL, 2)}
ARROWS = {(start, end) for (start, _), end in MOVES.items()} | {(status, status) for status in Status}

fences = st.integers(0, 6).map(Fence)
wamids = st.sampled_from([Wamid("wamid.A"), Wamid("wamid.B")])
verdicts = st.one_of(
    st.builds(Accept, wamids, st.just("{}")),
    st.builds(TryAgain, st.just(Instant(T0 + 1)), st.just("1"), st.just(""), st.none(), st.booleans()),
    st.just(GIVE_UP),
    st.just(UNSURE),
    st.just(Expire()),
)
events = st.one_of(
    st.just(lambda d: rules.claim(d, WORKER, 0, T0)),
    st.builds(lambda f, v: lambda d: rules.settle(d, f, v, T0), fences, verdicts),
    st.builds(lambda v: lambda d: rules.settle(d, d.fence, v, T0), verdicts),
    st.builds(
        lambda f, k, w: lambda d: rules.apply_status(d, f, a_status(k, wamid=w), T0),
        fences,
        st.sampled_from(StatusKind),
        wamids,
    ),
    st.builds(lambda k: lambda d: rules.apply_status(d, d.fence, a_status(k), T0), st.sampled_from(StatusKind)),
    st.builds(lambda p: lambda d: rules.give_up_waiting(d, p, 2, T0), st.sampled_from(Unsettled)),
    st.just(lambda d: rules.cancel(d, T0)),
    st.just(lambda d: rules.reopen(d, T0)),
)
lives = st.lists(events, max_size=25)


def steps(life: list[Callable[[Delivery], Delivery]]) -> list[tuple[Delivery, Delivery]]:
    stands = a_delivery()
    taken = []
    for event in life:
        after = event(stands)
        taken.append((stands, after))
        stands = after
    return taken


class TestAnyLife:
    """Any event of a message, in any order."""

    @given(lives)
    def test_only_drawn_moves_are_made(self, life: list[Callable[[Delivery], Delivery]]) -> None:
        assert {(before.status, after.status) for before, after in steps(life)} <= ARROWS

    @given(lives)
    def test_states_only_climb_within_a_generation(self, life: list[Callable[[Delivery], Delivery]]) -> None:
        for before, after in steps(life):
            if after.generation == before.generation:
                assert LEVEL[after.status] >= LEVEL[before.status]

    @given(lives)
    def test_terminal_stays_terminal_within_a_generation(self, life: list[Callable[[Delivery], Delivery]]) -> None:
        for before, after in steps(life):
            if after.generation == before.generation and before.status in TERMINAL:
                assert after.status is before.status

    @given(lives)
    def test_generations_and_fences_only_grow(self, life: list[Callable[[Delivery], Delivery]]) -> None:
        for before, after in steps(life):
            assert before.generation <= after.generation <= before.generation + 1
            assert before.fence <= after.fence <= before.fence + 1
            assert after.first_fence <= after.fence

    @given(lives)
    def test_tries_are_counted_from_zero_in_each_generation(self, life: list[Callable[[Delivery], Delivery]]) -> None:
        for before, after in steps(life):
            assert 0 <= after.tries <= after.fence - after.first_fence
            if after.generation > before.generation:
                assert after.tries == 0

    @given(lives)
    def test_only_a_queued_message_is_due_and_only_a_sending_one_has_an_owner(
        self, life: list[Callable[[Delivery], Delivery]]
    ) -> None:
        for _, after in steps(life):
            assert (after.due_at is not None) is (after.status is Status.QUEUED)
            assert after.owner is None or after.status is Status.SENDING
            assert not after.parked or after.status is Status.SENDING

    @given(lives)
    def test_what_arrived_has_a_name_and_a_time(self, life: list[Callable[[Delivery], Delivery]]) -> None:
        for _, after in steps(life):
            if after.status in (Status.SENT, Status.DELIVERED):
                assert after.provider_id is not None
                assert after.sent_at is not None
                assert after.error_code is None
            if after.status is Status.DELIVERED:
                assert after.delivered_at is not None

    @given(lives)
    def test_once_accepted_a_message_is_never_sent_again_in_its_generation(
        self, life: list[Callable[[Delivery], Delivery]]
    ) -> None:
        accepted: set[int] = set()
        for before, after in steps(life):
            if after.status is Status.SENDING and before.status is not Status.SENDING:
                assert after.generation not in accepted
            if after.status in (Status.SENT, Status.DELIVERED):
                accepted.add(after.generation)
