"""What organisers decide on pairings that have not been played, for the checks: the rounds that follow, and faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from arbiter.tournaments import events as ev
from arbiter.tournaments.checks.history import EarlierRounds
from arbiter.tournaments.corrections import Forbid, GiveBye, PairByHand, PairRound
from arbiter.tournaments.meetings import Meeting, ScheduledGame


def take(history: EarlierRounds, what: PairByHand | Forbid | GiveBye | PairRound, *, anew: bool) -> Iterator[str]:
    """Apply a decision; yield what is wrong with it. anew: the round is paired again, otherwise its meetings change."""
    if isinstance(what, Forbid):
        pair = frozenset((what.first, what.second))
        if not pair <= set(history.order):
            yield "a player who never entered was kept apart from another"
        (history.forbidden.discard if what.lifted else history.forbidden.add)(pair)
        return
    round_, paired = what.round, list(history.by_round.get(what.round, ()))
    if round_ < max(history.by_round, default=0) and anew:
        yield f"round {round_} was changed by hand when a later one was paired"
        return
    match what:
        case PairByHand(_, pairs) if not anew:
            yield from _rearrange(history, round_, pairs)
            return
        case PairByHand(_, pairs):
            known = [(meeting.first, meeting.second) for meeting in paired]
            _ask(history, round_, known)
            _ask(history, round_, pairs)
        case GiveBye(player, _, points):
            _ask(history, round_, (), player)
            if points > 1:
                history.byes_by_hand[round_].append(player)
            else:
                history.asked[player] = (*history.asked.get(player, ()), round_)
        case PairRound(_, afresh) if afresh:
            history.pairs_by_hand.pop(round_, None)
            history.byes_by_hand.pop(round_, None)
    yield from _take_back(history, round_, paired)


def undone(history: EarlierRounds, event: ev.Paired) -> Iterator[str]:
    """Yield what an organiser has asked for a round, and is not done."""
    round_ = event.round
    made = {(meeting.first, meeting.second) for meeting in event.meetings}
    for pair in history.pairs_by_hand.get(round_, ()):
        if all(_plays(history, player, round_) for player in pair) and pair not in made:
            yield f"round {round_}: {pair[0]} and {pair[1]} were to meet by hand, and do not"
    for player in history.byes_by_hand.get(round_, ()):
        if _plays(history, player, round_) and player not in event.byes:
            yield f"round {round_}: {player} was to have a bye by hand, and has none"


def is_by_hand(history: EarlierRounds, round_: int) -> bool:
    """Return whether an organiser has asked anything for the pairing of a round."""
    return bool(history.pairs_by_hand.get(round_) or history.byes_by_hand.get(round_))


def _plays(history: EarlierRounds, player: str, round_: int) -> bool:
    return player in history.here and round_ not in history.asked[player]


def _ask(history: EarlierRounds, round_: int, pairs: Iterable[tuple[str, str]], *others: str) -> None:
    """Note pairs, instead of all that was asked of their players and of some others before."""
    pairs = list(pairs)
    named = {*others, *(player for pair in pairs for player in pair)}
    before = history.pairs_by_hand.get(round_, [])
    history.pairs_by_hand[round_] = [*(pair for pair in before if named.isdisjoint(pair)), *pairs]
    history.byes_by_hand[round_] = [each for each in history.byes_by_hand.get(round_, []) if each not in named]


def _take_back(history: EarlierRounds, round_: int, paired: list[Meeting]) -> Iterator[str]:
    """Take the pairing of the last round back."""
    for meeting in paired:
        for game in meeting.games:
            yield from _give_up(history, game.number)
            for known in (history.results, history.rulings, history.ruled_at, history.meeting_of_game):
                known.pop(game.number, None)
        for at in (history.going_on, history.paired_at, history.ended_at, history.meetings):
            at.pop(meeting.number, None)
        for player in (meeting.first, meeting.second):
            history.meetings_of[player].remove(meeting)
    for of_round in (history.by_round, history.byes, history.sitting):
        of_round.pop(round_, None)


def _give_up(history: EarlierRounds, number: int) -> Iterator[str]:
    """Note that a game gets other players: a match that was being made for it belongs to an attempt before."""
    if history.attempts[number] > history.granted[number]:
        yield f"game {number} was paired otherwise after it had begun"
    history.attempts[number] += 1
    history.granted[number] = history.attempts[number]


def _rearrange(history: EarlierRounds, round_: int, pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    named = {player for pair in pairs for player in pair}
    old = [each for each in history.by_round.get(round_, ()) if {each.first, each.second} & named]
    if len(old) != len(pairs) or len(named) != 2 * len(pairs) or not named <= history.here:
        yield f"round {round_} was changed by hand, and its pairs are not of players of as many meetings"
        return
    history.pairs_by_hand.setdefault(round_, []).extend(pairs)
    for before, (first, second) in zip(old, pairs, strict=True):
        games: list[ScheduledGame] = []
        for game in before.games:
            seats = (first, second) if game.seat1 == before.first else (second, first)
            games.append(ScheduledGame(game.number, game.meeting, *seats, game.game))
            if game.number in history.results:
                yield f"game {game.number} was paired otherwise after it had a result"
            yield from _give_up(history, game.number)
        meeting = Meeting(before.number, round_, first, second, before.place, tuple(games))
        history.meetings[before.number] = history.going_on[before.number] = meeting
        history.by_round[round_] = [meeting if each is before else each for each in history.by_round[round_]]
        for player in (before.first, before.second):
            history.meetings_of[player].remove(before)
        for player in (first, second):
            history.meetings_of[player] = sorted([*history.meetings_of[player], meeting])
