"""Since when a player waits for its stream, and how long its server expects it to come back."""

from __future__ import annotations

from asyncio import CancelledError
from contextlib import suppress

import pytest
from arbiter_client.backoff import Backoff

from arbiter.errors import Reason, Refusal
from arbiter.service.play.waits import AFTER_MS, MOST_KEPT, SILENCE_MS, Waits
from arbiter.service.ports.journal import StoreFailed


class Requests:
    """Makes requests of a player that end in a given way. now: the time, in ms."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.waits = Waits(self)

    def now_ms(self) -> int:
        """Return the time, as a clock does."""
        return self.now

    def in_vain(self, took_ms: int, error: BaseException, player: str = "bob") -> int:
        """Make a request that ends with an error; return since when the player waits."""
        since: list[int] = []
        with suppress(type(error)), self.waits.asking(player) as begun_ms:
            since.append(begun_ms[0])
            self.now += took_ms
            raise error
        return since[0]

    def answered(self, player: str = "bob") -> int:
        """Make a request that is answered; return since when the player has waited."""
        with self.waits.asking(player) as begun_ms:
            assert self.waits.is_waiting(player)
        return begun_ms[0]


@pytest.mark.parametrize(("took_ms", "error"), [(0, StoreFailed()), (SILENCE_MS, CancelledError())])
def test_a_player_waits_since_the_first_request_that_failed_because_of_the_store(
    took_ms: int, error: BaseException
) -> None:
    requests = Requests()
    began = requests.now
    for _ in range(3):
        assert requests.in_vain(took_ms, error) == began
        requests.now += AFTER_MS
        assert requests.waits.is_waiting("bob")
    assert requests.answered() == began


def test_the_wait_ends_with_an_answer() -> None:
    requests = Requests()
    requests.in_vain(0, StoreFailed())
    requests.answered()
    assert not requests.waits.is_waiting("bob")
    assert requests.answered() == requests.now


def test_the_wait_ends_if_the_player_does_not_come_back() -> None:
    requests = Requests()
    requests.in_vain(0, StoreFailed())
    requests.now += AFTER_MS + 1
    assert not requests.waits.is_waiting("bob")
    assert requests.answered() == requests.now


def test_requests_that_were_given_up_at_once_do_not_prolong_a_wait() -> None:
    requests = Requests()
    requests.in_vain(SILENCE_MS, CancelledError())
    for _ in range(3):
        requests.now += AFTER_MS // 2
        requests.in_vain(0, CancelledError())
    assert requests.answered() == requests.now


@pytest.mark.parametrize("took_ms", [0, SILENCE_MS])
def test_a_refusal_for_another_reason_is_an_answer(took_ms: int) -> None:
    requests = Requests()
    requests.in_vain(took_ms, Refusal(Reason.GAME_UNKNOWN, "no such game", what="go", allowed="pods"))
    assert not requests.waits.is_waiting("bob")


def test_a_player_waits_as_long_as_one_of_its_requests_is_under_way() -> None:
    requests = Requests()
    with requests.waits.asking("bob"):
        requests.answered()
        assert requests.waits.is_waiting("bob")
        assert not requests.waits.is_waiting("alice")
    assert not requests.waits.is_waiting("bob")


def test_players_who_did_not_come_back_are_forgotten() -> None:
    requests = Requests()
    for number in range(100):
        requests.in_vain(0, StoreFailed(), f"player {number}")
        requests.now += AFTER_MS // 10
    assert len(requests.waits.failed) <= 11


def test_of_very_many_requests_the_first_one_and_the_last_ones_are_kept() -> None:
    requests = Requests()
    began = []
    for _ in range(2 * MOST_KEPT):
        began.append(requests.now)
        requests.in_vain(1, StoreFailed())
    with requests.waits.asking("bob") as begun_ms:
        assert begun_ms == (began[0], *began[1 - MOST_KEPT :], requests.now)


def test_a_client_comes_back_before_it_is_forgotten() -> None:
    refusal = StoreFailed()
    assert 1_000 * Backoff().most_s + int(refusal.facts["retry_after_ms"]) < AFTER_MS
