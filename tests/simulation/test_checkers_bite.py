"""A checker that cannot fail proves nothing: every invariant is broken on purpose and must be seen broken."""

from collections.abc import Callable

import pytest

from tests.simulation import (
    following_mutations,
    mutations,
    naive_following,
    naive_mechanisms,
    naive_policies,
    naive_turns,
    turn_mutations,
)
from waypost_testing.stories.cluster import CustomiseParts
from waypost_testing.stories.command import FOLLOWING, SENDING, TALKING, one
from waypost_testing.stories.verdict import (
    CLIMBS,
    FLOOR,
    LEAVING,
    NO_BUG,
    NO_DOUBLE,
    NO_LOSS,
    ORDER,
    POLICY,
    SCREENS,
    TENANCY,
    TURNS,
    UNREAD,
    Violation,
)

WITHIN = 40
"""Seeds; most bugs are seen by the first or second."""
SHOWN_FROM: dict[tuple[Callable[..., object], str], int] = {
    (naive_mechanisms.in_process_channel, "again"): 9,
    (naive_mechanisms.blind_requeue, "again"): 9,
    (mutations.a_submit_that_is_acknowledged_and_not_stored, ""): 2,
    (mutations.a_settle_that_takes_silence_for_a_refusal, ""): 2,
    (mutations.webhook_uptime_that_counts_while_a_server_refuses_webhooks, ""): 2,
    (mutations.a_failure_that_is_not_final, ""): 3,
    (mutations.a_signature_that_anybody_can_make, ""): 2,
    (mutations.an_echo_that_crosses_orgs, ""): 8,
    (naive_policies.a_window_that_is_ignored, "never wrote"): 3,
    (naive_policies.a_window_that_is_ignored, "window had closed"): 9,
    (naive_policies.a_window_that_is_asked_for_too_early, "window had closed"): 17,
    (naive_policies.a_throttle_in_memory, "wait"): 8,
    (naive_policies.consent_asked_for_at_submit_only, "had said STOP"): 11,
    (naive_policies.an_expiry_that_is_looked_at_when_queued_only, "after it had expired"): 16,
    (mutations.a_process_that_goes_by_its_own_clock, "window had closed"): 10,
    (naive_turns.lock_and_timer, "at once"): 16,
    (turn_mutations.a_commit_without_the_fence, ""): 15,
    (turn_mutations.a_floor_that_leaves_queued_replies, "after a person took over"): 97,
    (following_mutations.a_group_that_goes_on_for_who_left, "not in the group then"): 2,
    (following_mutations.a_log_that_is_confirmed_before_it_was_asked, "the history store has None"): 2,
    (following_mutations.bodies_that_go_before_the_log_has_confirmed_them, "the history store has None"): 2,
    (following_mutations.bodies_that_go_without_asking_the_log, "the history store has None"): 4,
    (following_mutations.what_is_taken_back_and_stays_in_the_log, "said {}, and the history store has"): 2,
}
"""The seed to begin with, where that is not the first, to save time: what is wrong shows in it or in one after it."""


def begin_of(what: Callable[..., object], words: str = "") -> int:
    return SHOWN_FROM.get((what, words), 1)


def first_violation(
    dress: CustomiseParts, invariant: str, words: str = "", story: str = SENDING, begin: int = 1
) -> Violation | None:
    for seed in range(begin, begin + WITHIN):
        verdict = one(seed, dress=dress, stories=(story,)).verdict
        found = [each for each in verdict.of(invariant) if words in each.seen]
        if found:
            return found[0]
    return None


@pytest.mark.parametrize(
    ("mechanism", "invariant", "seen"),
    [
        pytest.param(naive_mechanisms.in_process_channel, NO_LOSS, "acknowledged", id="in-process channel, loss"),
        pytest.param(naive_mechanisms.in_process_channel, NO_DOUBLE, "again", id="in-process channel, double"),
        pytest.param(naive_mechanisms.blind_requeue, NO_DOUBLE, "again", id="blind requeue of stale sends"),
        pytest.param(naive_mechanisms.send_then_store, NO_LOSS, "not in the database", id="send, then store, loss"),
        pytest.param(naive_mechanisms.send_then_store, NO_DOUBLE, "again", id="send, then store, double"),
    ],
)
def test_naive_mechanisms_break(mechanism: CustomiseParts, invariant: str, seen: str) -> None:
    violation = first_violation(mechanism, invariant, seen, begin=begin_of(mechanism, seen))
    assert violation is not None, f"{mechanism.__name__} held {invariant} for {WITHIN} seeds"


@pytest.mark.parametrize(
    ("mutation", "invariant"),
    [
        (mutations.a_submit_that_is_acknowledged_and_not_stored, NO_LOSS),
        (mutations.a_webhook_that_is_acknowledged_and_dropped, NO_LOSS),
        (mutations.a_sweep_that_never_comes, NO_LOSS),
        (mutations.a_queue_that_promotes_nobody, NO_LOSS),
        (mutations.a_wire_that_posts_twice, NO_DOUBLE),
        (mutations.a_key_that_is_ignored, NO_DOUBLE),
        (mutations.a_sweep_that_is_impatient, NO_DOUBLE),
        (mutations.a_settle_that_takes_silence_for_a_refusal, NO_DOUBLE),
        (mutations.webhook_uptime_that_counts_while_a_server_refuses_webhooks, NO_DOUBLE),
        (mutations.a_claim_that_ignores_the_queue, ORDER),
        (mutations.a_ladder_that_goes_down, CLIMBS),
        (mutations.a_failure_that_is_not_final, CLIMBS),
        (mutations.a_signature_that_anybody_can_make, TENANCY),
        (mutations.an_echo_that_crosses_orgs, TENANCY),
        (mutations.a_settle_that_raises, NO_BUG),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_bug_is_seen_by_the_checker_that_is_there_for_it(
    mutation: mutations.Mutation, invariant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    violation = first_violation(mutation(monkeypatch), invariant, begin=begin_of(mutation))
    assert violation is not None, f"{mutation.__name__} went unseen for {WITHIN} seeds"


@pytest.mark.parametrize(
    ("policy", "seen"),
    [
        (naive_policies.a_window_that_is_ignored, "never wrote"),
        (naive_policies.a_window_that_is_ignored, "window had closed"),
        (naive_policies.a_window_that_is_asked_for_too_early, "window had closed"),
        (naive_policies.a_quota_counted_by_each_process, "whose quota is"),
        (naive_policies.a_throttle_in_memory, "wait"),
        (naive_policies.a_claim_that_walks_through_gates, "was disabled"),
        (naive_policies.consent_asked_for_at_submit_only, "had said STOP"),
        (naive_policies.an_expiry_that_is_looked_at_when_queued_only, "after it had expired"),
        (mutations.a_process_that_goes_by_its_own_clock, "window had closed"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_rule_that_is_kept_only_almost_is_found_out(
    policy: mutations.Mutation, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    violation = first_violation(policy(monkeypatch), POLICY, seen, begin=begin_of(policy, seen))
    assert violation is not None, f"{policy.__name__} went unseen for {WITHIN} seeds"


@pytest.mark.parametrize(
    ("invariant", "seen"),
    [
        pytest.param(NO_LOSS, "the customer is stuck", id="a message between drain and release, or a lock of the dead"),
        pytest.param(NO_LOSS, "its answer never came", id="the buffer is deleted before the answer exists"),
        pytest.param(NO_DOUBLE, "was answered 2 times", id="a webhook that is delivered again"),
        pytest.param(TURNS, "at once", id="a lock that is taken for stale while its worker thinks"),
    ],
)
def test_the_seeds_lock_and_timer_break(invariant: str, seen: str) -> None:
    begin = begin_of(naive_turns.lock_and_timer, seen)
    violation = first_violation(naive_turns.lock_and_timer, invariant, seen, TALKING, begin)
    assert violation is not None, f"the lock and its timer held {invariant} for {WITHIN} seeds"


@pytest.mark.parametrize(
    ("mutation", "invariant", "seen"),
    [
        (turn_mutations.a_commit_without_the_fence, NO_LOSS, ""),
        (turn_mutations.a_turn_that_is_done_before_its_answer_exists, NO_LOSS, "ended as silent"),
        (turn_mutations.an_arrival_that_is_not_noted_while_the_bot_thinks, NO_LOSS, "nobody ever asked"),
        (turn_mutations.a_commit_that_does_not_arm_again, NO_LOSS, "the customer is stuck"),
        (turn_mutations.a_webhook_that_is_not_recognised, NO_DOUBLE, "in the log 2 times"),
        (turn_mutations.replies_that_are_not_queued_in_order, ORDER, "came after"),
        (turn_mutations.a_claim_that_forgets_its_burst, TURNS, "was taken over as"),
        (turn_mutations.a_bot_that_is_shown_the_last_messages_of_a_burst, NO_LOSS, "was answered"),
        (turn_mutations.a_bot_that_is_shown_the_first_messages_of_a_burst, TURNS, "the bot was shown 50"),
        (turn_mutations.a_floor_that_does_not_fence, FLOOR, "decided after"),
        (turn_mutations.a_floor_that_leaves_queued_replies, FLOOR, "after a person took over"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_bug_of_turns_is_seen(
    mutation: mutations.Mutation, invariant: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = begin_of(mutation, seen)
    violation = first_violation(mutation(monkeypatch), invariant, seen, TALKING, begin)
    assert violation is not None, f"{mutation.__name__} went unseen for {WITHIN} seeds"


def test_a_status_per_recipient_loses_what_was_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are asked before the message is stored, and everything that was sent becomes delivered at once."""
    violation = first_violation(naive_following.status_per_recipient(monkeypatch), NO_LOSS, "never shows", FOLLOWING)
    assert violation is not None


@pytest.mark.parametrize(
    ("mutation", "invariant", "seen"),
    [
        (following_mutations.feeds_that_are_read_on_hints_only, NO_LOSS, "never shows"),
        (following_mutations.a_group_that_goes_on_for_who_left, LEAVING, "not in the group then"),
        (following_mutations.a_message_that_is_taken_back_without_a_word, SCREENS, "was taken back, and is shown"),
        (following_mutations.reading_that_no_other_device_hears_of, UNREAD, "is read up to"),
        (following_mutations.a_team_that_hears_of_another_orgs_customers, TENANCY, "not its person's"),
        (following_mutations.a_log_that_is_confirmed_before_it_was_asked, NO_LOSS, "the history store has None"),
        (following_mutations.bodies_that_go_before_the_log_has_confirmed_them, NO_LOSS, "the history store has None"),
        (following_mutations.bodies_that_go_without_asking_the_log, NO_LOSS, "the history store has None"),
        (following_mutations.what_is_taken_back_and_stays_in_the_log, NO_LOSS, "said {}, and the history store has"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_bug_of_following_is_seen(
    mutation: mutations.Mutation, invariant: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = begin_of(mutation, seen)
    violation = first_violation(mutation(monkeypatch), invariant, seen, FOLLOWING, begin)
    assert violation is not None, f"{mutation.__name__} went unseen for {WITHIN} seeds"
