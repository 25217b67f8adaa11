"""Faults of servers that share a store, injected on purpose: a test fails for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import RecordError
from arbiter.matches import transitions
from arbiter.matches.match import Phase
from arbiter.service.matches.decisions import Decisions
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.session import Session
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.journal import Append
from arbiter.service.ports.replicas import Taken
from arbiter.service.sharing.elsewhere import MatchesElsewhere
from arbiter.service.sharing.replica import Replica
from arbiter.service.sharing.shared_server import Sharing
from arbiter.service.sharing.whereabouts import Whereabouts
from arbiter.testing.clock import NOON_MS
from arbiter.testing.memory import MemoryJournal, MemoryReplicas
from tests.replaced import check_arguments
from tests.service.sharing import (
    test_cleaning_up,
    test_cut_thoughts,
    test_dead_servers,
    test_following,
    test_notices,
    test_one_stream,
    test_several_servers,
    test_shared_time,
)

Patch = pytest.MonkeyPatch
Injection = Callable[[Patch], None]

RACES = test_several_servers.TestLostRaces()
GONE = test_dead_servers.TestDeadServer()
CLEANING = test_cleaning_up.TestCleaningUp()
moves_in_the_middle = partial(
    test_shared_time.test_the_charge_is_the_same_if_the_player_moves_to_other_servers_meanwhile,
    seats=(1, 0),
    moves_to=(2, 1),
)


def answers_a_lost_race_as_it_was_decided(patch: Patch) -> None:
    """A move is acknowledged although another server's event was stored in its place."""
    patch.setattr(Decisions, "_give", lambda self, live, command, then, answer, error: then(answer))


def stores_a_revision_twice(patch: Patch) -> None:
    """The store does not look whether a revision is there: two servers' flags fall, and both are stored."""

    def store(journal: Any, append: Append) -> int:
        match_id, number = append.records[0].match_id, append.records[0].revision
        kept = journal._of_match.get(match_id, [])
        journal._of_match[match_id] = kept[: number - 1]
        try:
            return with_condition(journal, append._replace(basis=None))
        finally:
            journal._of_match[match_id] = kept + journal._of_match[match_id][number - 1 :]

    with_condition = MemoryJournal._store
    patch.setattr(MemoryJournal, "_store", store)


def keeps_two_streams_of_a_player(patch: Patch) -> None:
    """The older of two streams on different servers is not ended."""
    end = Session.end

    def end_unless_superseded(session: Session, refusal: Refusal) -> None:
        if refusal.reason is not Reason.SESSION_SUPERSEDED:
            end(session, refusal)

    patch.setattr(Session, "end", end_unless_superseded)


def tells_no_turn_from_elsewhere(patch: Patch) -> None:
    """What other servers store does not reach the players of this one."""
    patch.setattr(MatchesElsewhere, "log_grown", lambda self, news: None)


def hears_no_revocation(patch: Patch) -> None:
    """A token that another server has revoked stays of use."""

    async def hear(self: Accounts, notice: object) -> None:
        pass

    patch.setattr(Accounts, "hear", hear)


def charges_a_thought_that_was_cut(patch: Patch) -> None:
    """A move is taken before it is known that the server that handed the turn over is dead."""
    patch.setattr(Sharing, "move_waits", lambda *_: False)


def doubts_for_ever(patch: Patch) -> None:
    """Moves of a player who has changed servers wait although the first one lives."""
    doubt = Whereabouts.doubt
    patch.setattr(Whereabouts, "doubt", lambda self, player, left: doubt(self, player, left) if left else None)


def forgets_the_doubt_with_the_stream(patch: Patch) -> None:
    """A player who loses its new stream too is no longer known to come from a dead server."""

    async def give_back(self: MemoryReplicas, player: str, *_: object) -> bool:
        return self._players.pop(player, None) is not None

    patch.setattr(MemoryReplicas, "give_back", give_back)


def forgets_the_hand_over(patch: Patch) -> None:
    """The server that a player leaves in its turn does not say when it had handed the turn over."""
    patch.setattr(Delivery, "hand_overs", lambda self, player: [])


def does_not_ask_again(patch: Patch) -> None:
    """A move that waits for the last server of its player does not get the hand-over that this server names."""

    def play_again(self: Decisions, player: str, live: Any, command: Any, then: Any, *_: object) -> None:
        self.play(player, live, command, then)

    patch.setattr(Decisions, "_play_again", play_again)


def keeps_an_old_hand_over(patch: Patch) -> None:
    """A move that has waited keeps the hand-over of the turn for which it came, although that was interrupted."""

    def play_again(self: Decisions, player: str, live: Any, command: Any, then: Any, *_: object) -> None:
        self.play(player, live, command, then)

    patch.setattr(Decisions, "_play_again", play_again)


def takes_who_comes_for_served(patch: Patch) -> None:
    """A player counts as one who has left its server before the next one has opened its stream."""
    take = MemoryReplicas.take

    async def early(self: MemoryReplicas, player: str, replica: str, *given: Any) -> Taken | None:
        taken = await take(self, player, replica, *given)
        if taken is not None:
            now_ms = NOON_MS + round(asyncio.get_running_loop().time() * 1_000)
            await self.arrive(player, replica, taken.epoch, now_ms)
        return taken

    patch.setattr(MemoryReplicas, "take", early)


def knows_nobody_who_is_nowhere(patch: Patch) -> None:
    """A server does not know the players who are on no server and come from one that may be dead."""
    patch.setattr(Whereabouts, "nowhere", property(lambda self: {}, lambda self, found: None), raising=False)


def remembers_one_server(patch: Patch) -> None:
    """Of the servers that a player has left, only the last one is remembered."""
    take = MemoryReplicas.take

    async def forgetful(self: MemoryReplicas, player: str, *given: Any) -> Taken | None:
        taken = await take(self, player, *given)
        left = self._players[player].left
        for replica in sorted(left, key=lambda name: left[name])[:-1]:
            del left[replica]
        return taken

    patch.setattr(MemoryReplicas, "take", forgetful)


def interrupts_whatever_turn_it_is(patch: Patch) -> None:
    """A turn that a server which lives has handed over is interrupted, because its player came from a dead one."""
    patch.setattr(transitions, "is_turn", lambda match, player, began_by: match.phase is Phase.ACTIVE)


def leaves_the_matches_of_the_dead(patch: Patch) -> None:
    """Nobody interrupts the turns that a dead server has handed over."""

    async def inherit(self: Replica, gone: str) -> None:
        await self._membership.forget(gone)

    patch.setattr(Replica, "_inherit", inherit)


def drops_flags_of_players_elsewhere(patch: Patch) -> None:
    """A flag falls at the exact instant also on a server that does not have the player."""
    patch.setattr(Sharing, "flag_waits_ms", lambda *_: 0)


def counts_before_it_stores(patch: Patch) -> None:
    """Limits are checked by what each server knows, and not as a match is stored."""
    patch.setattr(MemoryJournal, "_check_open", lambda self, open_limits: None)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("inject", "test"),
    [
        (
            answers_a_lost_race_as_it_was_decided,
            lambda: test_several_servers.test_every_request_has_one_answer_in_any_race(0),
        ),
        (
            stores_a_revision_twice,
            RACES.test_two_timers_that_expire_at_once_end_a_match_once,
        ),
        (
            keeps_two_streams_of_a_player,
            test_one_stream.TestOneStreamAPlayer().test_a_newer_stream_on_another_server_ends_the_older_one_within_a_second,
        ),
        (tells_no_turn_from_elsewhere, test_following.test_players_on_two_servers_play_each_other),
        (
            hears_no_revocation,
            test_notices.TestNotices().test_a_revoked_token_is_refused_everywhere_within_a_second,
        ),
        (
            charges_a_thought_that_was_cut,
            lambda: GONE.test_a_move_before_the_server_counts_as_dead_waits_and_is_charged_nothing(1),
        ),
        (
            forgets_the_doubt_with_the_stream,
            lambda: GONE.test_a_move_before_the_server_counts_as_dead_waits_and_is_charged_nothing(2),
        ),
        (forgets_the_hand_over, partial(moves_in_the_middle, leaves_first=True)),
        (forgets_the_hand_over, partial(moves_in_the_middle, leaves_first=False)),
        (does_not_ask_again, partial(moves_in_the_middle, leaves_first=False)),
        (
            keeps_an_old_hand_over,
            GONE.test_a_move_that_waited_has_no_hand_over_of_the_turn_that_was_interrupted_meanwhile,
        ),
        (
            takes_who_comes_for_served,
            GONE.test_a_player_whose_next_server_fails_to_open_its_stream_has_not_left_the_dead_one,
        ),
        (
            knows_nobody_who_is_nowhere,
            GONE.test_the_flag_of_a_player_who_has_found_no_other_server_waits_until_the_death_is_known,
        ),
        (remembers_one_server, test_cut_thoughts.test_a_player_whose_server_has_died_goes_on_before_anybody_knows),
        (
            interrupts_whatever_turn_it_is,
            test_cut_thoughts.test_a_player_whose_server_has_died_goes_on_before_anybody_knows,
        ),
        (
            doubts_for_ever,
            GONE.test_a_player_who_changes_servers_in_a_turn_is_charged_for_all_of_it,
        ),
        (
            leaves_the_matches_of_the_dead,
            GONE.test_its_players_go_on_elsewhere_and_the_interrupted_turn_is_charged_to_nobody,
        ),
        (
            drops_flags_of_players_elsewhere,
            CLEANING.test_no_flag_falls_before_the_server_of_the_mover_is_known_to_be_dead,
        ),
        (
            drops_flags_of_players_elsewhere,
            GONE.test_a_single_call_in_time_on_one_server_comes_before_a_flag_on_another,
        ),
        (
            counts_before_it_stores,
            test_following.test_tournaments_on_all_servers_give_a_player_no_more_matches_at_once_than_it_accepts,
        ),
        (counts_before_it_stores, test_following.test_limits_count_open_matches_and_tournaments_of_all_servers),
    ],
)
def test_it_is_found(inject: Injection, test: Callable[[], object], monkeypatch: Patch) -> None:
    inject(monkeypatch)
    check_arguments(monkeypatch)
    with pytest.raises((AssertionError, LookupError, RecordError, RuntimeError)):
        test()
