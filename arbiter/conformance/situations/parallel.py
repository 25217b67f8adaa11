"""Several matches in parallel, a match against itself, and challenges."""

from __future__ import annotations

from typing import Any

from arbiter.conformance.clauses import CLIENTS, MATCH, PLAYER, clause
from arbiter.conformance.testbed import Testbed
from arbiter.games import registry

MATCHES = 8


@clause("parallel.matches", "plays several matches at once", "The stream over which a bot plays all its matches.")
async def matches(testbed: Testbed) -> None:
    """Play eight matches in parallel, four moves in each."""
    under_way = [await testbed.match(seat=1 if n % 2 else 2) for n in range(MATCHES)]
    for _ in range(4):
        for match in under_way:
            await match.goes_on()
            if match.opponents_turn:
                await match.reply()


@clause(
    "parallel.independent",
    "one match never waits for another",
    "callbacks of one match never wait for those of another.",
    CLIENTS,
)
async def independent(testbed: Testbed) -> None:
    """Delay the answers to what the bot requests for one match, if it does, and play another match meanwhile."""
    game = registry.game(testbed.game())
    first, second = sorted(game.moves(game.initial()))[:2]
    ids: list[str] = []

    def of_slow(request: Any) -> bool:
        line = getattr(request, "line", None)
        return any(one in str(request) for one in ids) or (line is not None and list(line.moves[:1]) == [first])

    with testbed.proxy.without_lists(), testbed.proxy.calls_held(of_slow):
        slow = await testbed.match(seat=2, opening=(first,))
        ids += [slow.id, slow.now.text]
        await slow.thinking()
        quick = await testbed.match(seat=2, opening=(second,))
        await quick.goes_on(3)
    await slow.goes_on()


@clause("parallel.self-play", "plays a match against itself", "It gets the turns of both seats", MATCH)
async def self_play(testbed: Testbed) -> None:
    """Give the bot both seats, and check that six moves are played."""
    match = await testbed.match(against=testbed.player)
    await testbed.until(lambda: match.now.ply >= 6 or match.over, "six moves", 60)
    match.check_not_lost()
    await match.end()
    await testbed.until(testbed.acknowledged, "the result to be acknowledged")


@clause(
    "challenges.answered", "answers a challenge", "Accepts a challenge to the caller, or another player's seek;", PLAYER
)
async def challenge(testbed: Testbed) -> None:
    """Challenge the bot, and send the challenge twice. The bot may accept or decline; if it accepts, it plays."""
    testbed.proxy.down = lambda item: [item] * (2 if item.WhichOneof("item") == "challenge" else 1)
    made = await testbed.challenge()

    def answered() -> bool:
        calls = [call for call in testbed.trace.called if getattr(call.request, "challenge_id", "") == made]
        return any(call.method.endswith(("AcceptChallenge", "DeclineChallenge")) for call in calls)

    await testbed.until(answered, "the challenge to be accepted or declined")
    accepted = any(call.method.endswith("AcceptChallenge") for call in testbed.trace.called)
    if accepted:
        await testbed.until(lambda: bool(testbed.played), "the match that came of the challenge")
        match = testbed.played[0]
        await match.arrive()
        await match.goes_on(2)
