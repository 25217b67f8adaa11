"""Messages as bytes: what was sealed is read again, and everything else is refused."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.bus.messages import Envelopes
from arbiter.bus.nats_addresses import servers_of, shown
from arbiter.errors import OperatorError
from arbiter.service.ports.bus import Message, Report, StreamOpened
from arbiter.service.ports.journal import StoredRecord, Subject

OURS = Envelopes(b"signature")
NUMBERS = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
RECORDS = st.builds(StoredRecord, NUMBERS, TEXTS, NUMBERS, TEXTS.map(str.encode), st.sampled_from(Subject))
MESSAGES: st.SearchStrategy[Message] = st.builds(StreamOpened, TEXTS, TEXTS) | st.builds(
    Report, TEXTS, NUMBERS, NUMBERS, NUMBERS, st.lists(RECORDS, max_size=5).map(tuple)
)


@given(MESSAGES)
def test_a_message_is_read_as_it_was_sealed(message: Message) -> None:
    assert OURS.open(OURS.seal(message)) == message


@given(MESSAGES, st.data())
def test_a_message_that_was_changed_or_is_of_another_store_is_refused(message: Message, data: st.DataObject) -> None:
    sealed = OURS.seal(message)
    assert Envelopes(b"other").open(sealed) is None
    place = data.draw(st.integers(0, len(sealed) - 1))
    changed = bytearray(sealed)
    changed[place] ^= data.draw(st.integers(1, 255))
    assert OURS.open(bytes(changed)) is None
    assert OURS.open(sealed[:place]) is None


@given(MESSAGES)
def test_nobody_else_can_read_a_message(message: Message) -> None:
    """Nor see whether two of them are the same."""
    sealed, again = OURS.seal(message), OURS.seal(message)
    assert sealed != again
    shown = [text for text in message if isinstance(text, str)]
    shown += [record.match_id for record in message.records] if isinstance(message, Report) else []
    assert not [text for text in shown if len(text) > 4 and text.encode() in sealed]


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    assert OURS.open(data) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5) | st.sampled_from(["match", "s"]),
    lambda inner: st.lists(inner, max_size=6),
)


@pytest.mark.long
@given(st.sampled_from(["report", "stream", "later"]), st.lists(JSON, max_size=6))
def test_sealed_values_that_no_message_has_are_refused(kind: str, values: list[object]) -> None:
    """As a newer server may send them."""
    body = orjson.dumps([kind, *values])
    opened = OURS.open(OURS._seal(body))
    assert opened is None or OURS.open(OURS.seal(opened)) == opened


def test_each_store_has_a_subject_of_its_own() -> None:
    assert OURS.subject == Envelopes(b"signature").subject != Envelopes(b"other").subject
    assert OURS.subject.startswith("arbiter.")
    assert len(OURS.subject) == len("arbiter.") + 24


@pytest.mark.parametrize(
    ("setting", "servers", "seen"),
    [
        ("nats://a", ["nats://a:4222"], "nats://a:4222"),
        ("a:1, tls://b:2/", ["nats://a:1", "tls://b:2"], "nats://a:1,tls://b:2"),
        ("nats://me:secret@a:1", ["nats://me:secret@a:1"], "nats://a:1"),
        ("nats://token@[::1]:1", ["nats://token@[::1]:1"], "nats://[::1]:1"),
    ],
)
def test_addresses(setting: str, servers: list[str], seen: str) -> None:
    assert servers_of(setting) == servers
    assert shown(setting) == seen


@pytest.mark.parametrize(
    "setting", [",", "nats://", "http://a:1", "nats://a:b", "nats://a/b", "nats://a?b", "nats://a:99999", "a b", "a#b"]
)
def test_a_wrong_address_is_refused(setting: str) -> None:
    with pytest.raises(OperatorError, match="is no address of a bus: write nats://HOST:PORT or tls://HOST:PORT"):
        servers_of(setting)


def test_a_password_is_not_shown_in_a_refusal() -> None:
    with pytest.raises(OperatorError) as refused:
        servers_of("http://me:secret@a:1")
    assert "secret" not in str(refused.value)
