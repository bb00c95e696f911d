"""A customer who revoked consent is not written to; with a dossier, only a customer who granted it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from waypost.model.dossier import ConsentStatus, DossierFields
from waypost.model.message import Channel
from waypost.model.time import Instant, hours
from waypost.rules.accounts.dossier_fields import checked, is_anybody
from waypost.rules.sending.delivery import GiveUp
from waypost.rules.sending.send_checks import CONSENT_REQUIRED, check_before_send, refused_by_consent
from waypost.rules.text.json_validation import InvalidField
from waypost_testing.contracts.examples import T0, a_claim

WORDS = st.sampled_from([None, *ConsentStatus])


@given(with_dossier=st.booleans(), dossier=WORDS, address=WORDS)
def test_a_message_may_go_exactly_when_the_rule_says_so(
    with_dossier: bool, dossier: ConsentStatus | None, address: ConsentStatus | None
) -> None:
    allowed = refused_by_consent(with_dossier, dossier, address) is None
    granted = dossier is ConsentStatus.GRANTED
    assert allowed == (address is not ConsentStatus.REVOKED and (granted or not with_dossier))


@given(dossier_id=st.sampled_from([None, 7]), dossier=WORDS, address=WORDS, template=st.sampled_from([None, "hello"]))
def test_right_before_the_call_the_same_rule_decides(
    dossier_id: int | None, dossier: ConsentStatus | None, address: ConsentStatus | None, template: str | None
) -> None:
    open_window = Instant(T0 + hours(1))
    claimed = a_claim(
        dossier_id=dossier_id, consent=dossier, address_consent=address, template=template, window_until=open_window
    )
    verdict = check_before_send(claimed, T0)
    refused = refused_by_consent(dossier_id is not None, dossier, address)
    if refused is None:
        assert verdict is None
    else:
        assert verdict == GiveUp(CONSENT_REQUIRED, refused, None, counts=False)


@given(dossier=WORDS, address=WORDS)
def test_an_email_asks_for_consent_and_no_window(dossier: ConsentStatus | None, address: ConsentStatus | None) -> None:
    claimed = a_claim(channel=Channel.EMAIL, dossier_id=7, consent=dossier, address_consent=address)
    assert (check_before_send(claimed, T0) is None) == (refused_by_consent(True, dossier, address) is None)


@given(phone=st.none() | st.text(max_size=30), email=st.none() | st.text(max_size=30))
def test_whatever_is_given_a_person_is_normal_or_refused_by_field(phone: str | None, email: str | None) -> None:
    person = checked(DossierFields(phone=phone, email=email), None)
    if isinstance(person, InvalidField):
        assert person.field in ("phone", "email")
        return
    assert checked(person, None) == person
    assert is_anybody(person) == (phone is not None or email is not None)
