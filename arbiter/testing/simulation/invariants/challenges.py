"""Challenges at several servers: each ends in one way, and its players agree on which."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.errors import Reason
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation
from arbiter.testing.simulation.observations import ChallengeStory

ONE_END = "A challenge ends in one way"
TOLD = "A challenger is told of its match"


def challenges_end_in_one_way(case: RunEvidence) -> Iterator[Violation]:
    """Check that each challenge has one match if it was accepted, and none otherwise, whatever its servers did."""
    for story in case.history.challenges:
        request = f"challenge {story.challenge_id}"
        matches = [match_id for match_id, entries in case.matches.items() if entries[0].event.get("request") == request]
        state = story.end.state if story.end is not None else "missing"
        if len(matches) > 1 or state not in ("open", "accepted", "declined") or (state == "accepted") != bool(matches):
            yield Violation(ONE_END, f"{story.challenge_id} is {state}, with the matches {matches}")
            continue
        match_id = matches[0] if matches else ""
        if story.end is not None and story.end.match_id != match_id:
            yield Violation(ONE_END, f"{story.challenge_id} has {story.end.match_id!r}, and its match is {match_id!r}")
        if story.told != matches:
            yield Violation(TOLD, f"{story.challenge_id} has the match {match_id!r}, and was told of {story.told}")
        yield from _answers(case, story, match_id)


def _answers(case: RunEvidence, story: ChallengeStory, match_id: str) -> Iterator[Violation]:
    """Check that what players were answered is what has become of a challenge."""
    players = case.matches[match_id][0].event["players"] if match_id else []
    for answer in story.answers:
        plays = answer.player in players and answer.player != story.challenger
        refused = answer.refused is Reason.CHALLENGE_NOT_FOUND
        right = (plays if answer.accepts else not match_id) if answer.refused is None else not (refused and plays)
        if answer.match_id not in ("", match_id) or (not right and not _both(story, answer.player)):
            yield Violation(ONE_END, f"{story.challenge_id}: {answer}, and its match is {match_id!r} of {players}")


def _both(story: ChallengeStory, player: str) -> bool:
    """Return whether a player asked to accept and to decline at once: one of these is refused.

    The answer to the other one may be lost.
    """
    return len({accepts for name, accepts in story.asked if name == player}) > 1


CHECKS = (challenges_end_in_one_way,)
