"""What an account-level update asks for: a table of Meta's values, and unknown ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.dossier import ConsentStatus
from waypost.model.ids import NumberId
from waypost.model.template import TemplateStatusChange
from waypost.model.time import Instant, from_unix, seconds
from waypost.model.update import (
    AlertOperator,
    HoldAccount,
    HoldCause,
    JournalState,
    RefreshTemplates,
    ReleaseHold,
    SetMarketingPreference,
    SetPace,
    SetTemplateStatus,
    SetTier,
    UpdateAction,
)
from waypost.rules.receiving.account_updates import (
    HoldStatus,
    UnreadableUpdate,
    UpdateContext,
    error,
    read,
    said_at,
    standing,
    tier,
)

T0 = from_unix(1_760_000_000)
ONE = NumberId("1")
CONTEXT = UpdateContext(numbers=[ONE], at=T0, now=T0)
FIELDS = [
    "account_update",
    "phone_number_quality_update",
    "business_capability_update",
    "message_template_status_update",
    "message_template_quality_update",
    "template_category_update",
    "message_template_components_update",
    "user_preferences",
    "account_alerts",
    "account_review_update",
    "phone_number_name_update",
    "security",
]


def acts(field: str, value: object, context: UpdateContext = CONTEXT) -> list[UpdateAction]:
    """Without the alerts, which accompany many updates."""
    told = read(field, value, context)
    assert told.failure is None
    return [act for act in told.acts if not isinstance(act, AlertOperator)]


def alerts(field: str, value: object) -> list[AlertOperator]:
    return [act for act in read(field, value, CONTEXT).acts if isinstance(act, AlertOperator)]


BAN = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE", "waba_ban_date": "2026-01-01"}}
RESTRICTION = {
    "event": "ACCOUNT_RESTRICTION",
    "restriction_info": [
        {"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": 1_760_000_100},
        {"restriction_type": "RESTRICTED_CUSTOMER_INITIATED_MESSAGING", "expiration": "1760000900"},
        {"restriction_type": "RESTRICTED_ADD_PHONE_NUMBER_ACTION", "expiration": 1_769_999_999},
    ],
}
GONE = "the account is no longer with the provider"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (BAN, [HoldAccount(HoldCause.BAN, "ACCOUNT_DISABLED", "the provider has disabled the account")]),
        (BAN | {"ban_info": {"waba_ban_state": "REINSTATE"}}, [ReleaseHold(HoldCause.BAN)]),
        (BAN | {"ban_info": {"waba_ban_state": "SCHEDULE_FOR_DISABLE"}}, []),
        (
            RESTRICTION,
            [
                HoldAccount(
                    HoldCause.RESTRICTION,
                    "ACCOUNT_RESTRICTION",
                    "the provider has restricted the account: ACCOUNT_RESTRICTION",
                    from_unix(1_760_000_900),
                )
            ],
        ),
        ({"event": "ACCOUNT_VIOLATION", "violation_info": {"violation_type": "ADULT"}}, []),
        (
            {"event": "ACCOUNT_VIOLATION", "violation_info": {"violation_type": "ADULT", "expiration": 1_760_000_100}},
            [
                HoldAccount(
                    HoldCause.RESTRICTION,
                    "ACCOUNT_VIOLATION",
                    "the provider has restricted the account: ACCOUNT_VIOLATION",
                    from_unix(1_760_000_100),
                )
            ],
        ),
        ({"event": "ACCOUNT_RESTRICTION", "restriction_info": RESTRICTION["restriction_info"][2:]}, []),
        ({"event": "ACCOUNT_DELETED"}, [HoldAccount(HoldCause.PRESENCE, "ACCOUNT_DELETED", GONE)]),
        ({"event": "account_offboarded"}, [HoldAccount(HoldCause.PRESENCE, "ACCOUNT_OFFBOARDED", GONE)]),
        ({"event": "ACCOUNT_RECONNECTED"}, [ReleaseHold(HoldCause.PRESENCE)]),
        ({"event": "PARTNER_ADDED", "waba_info": {"waba_id": "1"}}, []),
        ({"event": "VOLUME_BASED_PRICING_TIER_UPDATE"}, []),
    ],
)
def test_an_account_is_held_and_released(value: object, expected: list[UpdateAction]) -> None:
    assert acts("account_update", value) == expected


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"event": None},
        {"event": "x" * 65},
        {"event": "DISABLED_UPDATE"},
        BAN | {"ban_info": []},
        [],
        "DISABLE",
        None,
    ],
)
def test_an_account_update_that_says_nothing_fails_with_its_reason(value: object) -> None:
    told = read("account_update", value, CONTEXT)
    assert (told.state, told.acts) == (JournalState.FAILED, ())
    assert told.failure


def test_what_only_informs_is_kept_and_what_holds_is_told() -> None:
    assert read("account_update", {"event": "PARTNER_ADDED"}, CONTEXT).state is JournalState.KEPT
    assert read("a_field_of_tomorrow", {"anything": 1}, CONTEXT).state is JournalState.KEPT
    assert alerts("account_update", BAN) == [AlertOperator("account_update", "DISABLED_UPDATE DISABLE")]
    assert [alert.field for alert in alerts("account_update", RESTRICTION)] == ["account_update"]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("TIER_50", 50),
        ("TIER_250", 250),
        ("TIER_1K", 1000),
        ("TIER_2K", 2000),
        ("TIER_10K", 10_000),
        ("TIER_100K", 100_000),
        ("tier_2k", 2000),
        ("TIER_UNLIMITED", None),
        ("UNLIMITED", None),
        (-1, None),
        ("-1", None),
        (2000, 2000),
        ("2000", 2000),
        (10**8, 10**8),
        ("TIER_999999M", None),
        (10**9, UnreadableUpdate()),
        (0, UnreadableUpdate()),
        (-2, UnreadableUpdate()),
        (True, UnreadableUpdate()),
        (1.5, UnreadableUpdate()),
        ("TIER_", UnreadableUpdate()),
        ("TIER_٢K", UnreadableUpdate()),
        ("", UnreadableUpdate()),
        (None, UnreadableUpdate()),
        ([250], UnreadableUpdate()),
    ],
)
def test_a_tier_is_read_in_every_spelling(given_: object, expected: object) -> None:
    assert tier(given_) == expected


LIMIT = "max_daily_conversations_per_business"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("business_capability_update", {LIMIT: "TIER_2K", "max_phone_numbers_per_business": 2}, [SetTier(2000)]),
        ("business_capability_update", {LIMIT: 10_000}, [SetTier(10_000)]),
        ("business_capability_update", {"max_daily_conversation_per_phone": -1}, [SetTier(None)]),
        ("business_capability_update", {"max_phone_numbers_per_business": 2}, []),
        ("business_capability_update", {LIMIT: "NOT_SET"}, []),
        ("business_capability_update", {LIMIT: "TIER_NOT_SET"}, []),
        ("phone_number_quality_update", {"event": "ONBOARDING", LIMIT: "TIER_250"}, [SetTier(250)]),
        ("phone_number_quality_update", {"event": "UPGRADE", "current_limit": "TIER_10K"}, [SetTier(10_000)]),
        ("phone_number_quality_update", {"event": "THROUGHPUT_UPGRADE"}, [SetPace(ONE, 1000)]),
        (
            "phone_number_quality_update",
            {"event": "THROUGHPUT_UPGRADE", LIMIT: -1},
            [SetTier(None), SetPace(ONE, 1000)],
        ),
    ],
)
def test_limits_are_set(field: str, value: object, expected: list[UpdateAction]) -> None:
    assert acts(field, value) == expected


def test_an_upgrade_of_one_of_several_numbers_is_left_to_a_person_and_its_tier_is_set_all_the_same() -> None:
    both = UpdateContext(numbers=[ONE, NumberId("2")], at=T0, now=T0)
    told = read("phone_number_quality_update", {"event": "THROUGHPUT_UPGRADE", LIMIT: "TIER_2K"}, both)
    assert (told.acts, told.state) == ((SetTier(2000),), JournalState.FAILED)


def test_a_tier_that_cannot_be_read_fails() -> None:
    told = read("business_capability_update", {LIMIT: "many"}, CONTEXT)
    assert (told.acts, told.failure) == ((), "'many' is not a tier")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("template_category_update", {"new_category": "MARKETING"}, [RefreshTemplates()]),
        ("message_template_components_update", {"message_template_element": "new words"}, [RefreshTemplates()]),
        ("message_template_quality_update", {"new_quality_score": "GREEN"}, [RefreshTemplates()]),
        ("message_template_quality_update", {"new_quality_score": "RED"}, [RefreshTemplates()]),
        (
            "message_template_status_update",
            {"event": "PAUSED", "message_template_name": "order", "message_template_language": "en-US"},
            [SetTemplateStatus(TemplateStatusChange("order", "en_US", "PAUSED"))],
        ),
        ("message_template_status_update", {"event": "FLAGGED"}, []),
    ],
)
def test_templates_are_told_of(field: str, value: object, expected: list[UpdateAction]) -> None:
    assert acts(field, value) == expected


def wish(**changed: Any) -> dict[str, Any]:
    standard = {"wa_id": "4915100000001", "user_id": "DE.1", "category": "marketing_messages", "value": "stop"}
    return standard | {"timestamp": 1_759_999_999} | changed


PHONE = "+4915100000001"
EARLIER = from_unix(1_759_999_999)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (wish(), SetMarketingPreference((PHONE, "DE.1"), ConsentStatus.REVOKED, EARLIER)),
        (wish(value="resume"), SetMarketingPreference((PHONE, "DE.1"), ConsentStatus.GRANTED, EARLIER)),
        (wish(value="signup"), SetMarketingPreference((PHONE, "DE.1"), ConsentStatus.GRANTED, EARLIER)),
        (wish(wa_id=None), SetMarketingPreference(("DE.1",), ConsentStatus.REVOKED, EARLIER)),
        (wish(user_id="x\n"), SetMarketingPreference((PHONE,), ConsentStatus.REVOKED, EARLIER)),
        (wish(timestamp=None), SetMarketingPreference((PHONE, "DE.1"), ConsentStatus.REVOKED, T0)),
        (wish(timestamp=1_860_000_000), SetMarketingPreference((PHONE, "DE.1"), ConsentStatus.REVOKED, T0)),
    ],
)
def test_a_customers_wish_is_read(given_: object, expected: SetMarketingPreference) -> None:
    assert acts("user_preferences", {"user_preferences": [given_]}) == [expected]


def test_a_wish_that_we_do_not_know_is_kept_and_one_that_cannot_be_read_leaves_its_neighbours() -> None:
    for unknown in (wish(category="calls"), wish(value="later")):
        assert read("user_preferences", {"user_preferences": [unknown]}, CONTEXT).state is JournalState.KEPT
    told = read("user_preferences", {"user_preferences": [wish(), "poison", wish(wa_id=None, user_id=None)]}, CONTEXT)
    assert len(told.acts) == 1
    assert told.failure == "2 of 3 preferences could not be read"


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        (
            "account_alerts",
            {"entity_type": "WABA", "alert_info": {"alert_severity": "CRITICAL", "alert_type": "OBA_APPROVED"}},
            "CRITICAL OBA_APPROVED",
        ),
        ("account_review_update", {"decision": "REJECTED"}, "REJECTED"),
        ("phone_number_name_update", {"decision": "REJECTED", "rejection_reason": "NAME_TAKEN"}, "REJECTED NAME_TAKEN"),
        ("security", {"event": "PIN_CHANGED", "display_phone_number": "15550783881"}, "PIN_CHANGED"),
        ("message_template_quality_update", {"new_quality_score": "RED", "message_template_name": "x"}, "RED x"),
        ("security", {}, ""),
    ],
)
def test_a_person_is_told(field: str, value: object, what: str) -> None:
    assert alerts(field, value) == [AlertOperator(field, what)]
    assert read(field, value, CONTEXT).state is JournalState.DONE


def test_an_error_is_told_without_the_customers_number() -> None:
    told = error({"code": 130429, "title": "Rate limit hit", "error_data": {"details": "to +49 151 00000001"}})
    assert told.acts == (AlertOperator("errors", "130429 to [number]"),)
    assert error("nonsense").acts == (AlertOperator("errors", ""),)


def test_a_word_from_the_future_is_from_now() -> None:
    assert said_at(Instant(T0 + 5), T0) == T0
    assert said_at(None, T0) == T0
    assert said_at(Instant(T0 - 5), T0) == T0 - 5


def a_hold(until: Instant | None) -> HoldAccount:
    return HoldAccount(HoldCause.BAN, "X", "x", until)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([], "open"),
        ([T0 - 1, T0], "open"),
        ([T0 + 1, T0 + 9, T0 - 1], T0 + 9),
        ([T0 + 1, None], None),
    ],
)
def test_an_account_is_held_for_its_longest_hold(ends: list[Instant | None], expected: object) -> None:
    found = standing([HoldStatus(HoldCause.BAN, None), *(HoldStatus(HoldCause.BAN, a_hold(end)) for end in ends)], T0)
    assert ("open" if found is None else found.until) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
KNOWN = st.sampled_from(
    [
        "event",
        "ban_info",
        "waba_ban_state",
        "restriction_info",
        "expiration",
        LIMIT,
        "user_preferences",
        "alert_info",
        "decision",
        "new_quality_score",
        "message_template_name",
    ]
)
WORDS = st.sampled_from(["DISABLED_UPDATE", "ACCOUNT_RESTRICTION", "DISABLE", "TIER_2K", "THROUGHPUT_UPGRADE", wish()])
SHAPED = st.dictionaries(KNOWN, JSON | WORDS | st.lists(WORDS, max_size=3) | st.dictionaries(KNOWN, JSON | WORDS))


@given(field=st.sampled_from(FIELDS) | st.text(max_size=20), value=JSON | SHAPED)
def test_whatever_comes_is_read_kept_or_failed_with_a_reason(field: str, value: object) -> None:
    told = read(field, value, CONTEXT)
    assert told == read(field, value, CONTEXT)
    for act in told.acts:
        match act:
            case HoldAccount(until=until):
                assert until is None or until > 0
            case SetTier(most=most):
                assert most is None or 0 < most < 2**31
            case SetMarketingPreference(addresses=addresses, at=at):
                assert addresses
                assert at <= CONTEXT.now
            case AlertOperator(what=what):
                assert "\0" not in what
            case _:
                pass
    assert told.failure is None or told.failure


@given(ends=st.lists(st.none() | st.integers(-5, 5).map(lambda n: Instant(T0 + seconds(n)))), later=st.integers(0, 9))
def test_time_only_ever_opens_an_account(ends: list[Instant | None], later: int) -> None:
    words = [HoldStatus(HoldCause.RESTRICTION, a_hold(end)) for end in ends]
    then = standing(words, Instant(T0 + seconds(later)))
    assert then is None or standing(words, T0) is not None
