"""Several matches in parallel, a match against itself, and challenges."""

from __future__ import annotations

from typing import Any

from arbiter.conformance.clauses import CLIENTS, MATCH, PLAYER, clause
from arbiter.conformance.stage import Stage
from arbiter.games import registry

MATCHES = 8


@clause("parallel.matches", "plays several matches at once", "One stream a bot, over which it plays all its matches.")
async def matches(stage: Stage) -> None:
    """Play eight matches in parallel, four moves in each."""
    under_way = [await stage.match(seat=1 if n % 2 else 2) for n in range(MATCHES)]
    for _ in range(4):
        for match in under_way:
            await stage.goes_on(match)
            if match.opponents_turn:
                await match.reply()


@clause(
    "parallel.independent",
    "one match never waits for another",
    "callbacks of one match never wait for those of another.",
    CLIENTS,
)
async def independent(stage: Stage) -> None:
    """Delay the answers to what the bot requests for one match, if it does, and play another match meanwhile."""
    game = registry.game(stage.game())
    first, second = sorted(game.moves(game.initial()))[:2]
    ids: list[str] = []

    def of_slow(request: Any) -> bool:
        line = getattr(request, "line", None)
        return any(one in str(request) for one in ids) or (line is not None and list(line.moves[:1]) == [first])

    with stage.without_lists(), stage.calls_held(of_slow):
        slow = await stage.match(seat=2, opening=(first,))
        ids += [slow.id, slow.now.text]
        await stage.thinking(slow)
        quick = await stage.match(seat=2, opening=(second,))
        await stage.goes_on(quick, 3)
    await stage.goes_on(slow)


@clause("parallel.self-play", "plays a match against itself", "it is told of the turns of both seats", MATCH)
async def self_play(stage: Stage) -> None:
    """Give the bot both seats, and check that six moves are played."""
    match = await stage.match(against=stage.player)
    await stage.until(lambda: match.now.ply >= 6 or match.over, "six moves", 60)
    stage.sound(match)
    await match.end()
    await stage.until(stage.acknowledged, "the result to be acknowledged")


@clause("challenges.answered", "answers a challenge", "Accepts a challenge to the caller or anybody's seek;", PLAYER)
async def challenge(stage: Stage) -> None:
    """Challenge the bot, and send the challenge twice. The bot may accept or decline; if it accepts, it plays."""
    stage.bend(lambda item: [item] * (2 if item.WhichOneof("item") == "challenge" else 1))
    made = await stage.challenge()

    def answered() -> bool:
        calls = [call for call in stage.trace.called if getattr(call.request, "challenge_id", "") == made]
        return any(call.method.endswith(("AcceptChallenge", "DeclineChallenge")) for call in calls)

    await stage.until(answered, "the challenge to be accepted or declined")
    accepted = any(call.method.endswith("AcceptChallenge") for call in stage.trace.called)
    if accepted:
        await stage.until(lambda: bool(stage.challenged), "the match that came of the challenge")
        match = stage.challenged[0]
        await match.arrive()
        await stage.goes_on(match, 2)
