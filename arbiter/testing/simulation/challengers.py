"""Simulated players who challenge each other at several servers, and accept, decline and withdraw at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Final

from arbiter.errors import Refusal
from arbiter.service.gate.admission import Call
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.notices import NoticeKind
from arbiter.testing.simulation.cluster import SharingServer
from arbiter.testing.simulation.disk import Chance
from arbiter.testing.simulation.gate_calls import ADDRESS
from arbiter.testing.simulation.observations import ChallengeAnswer, ChallengeStory, RunObservations
from arbiter.testing.simulation.plan import ChallengePlan, Fault
from arbiter.testing.simulation.simulated_player import TRY_AGAIN

PAUSE_S: Final = 0.5  #: until a call is repeated
MOST_STEPS: Final = 40  #: of a server that is killed while a player accepts a challenge at it
GAME: Final = "circle-of-life(target=1)"
TIME: Final = "10s+500ms"
ALL: Final = 1_000_000  #: notices


class Challenger:
    """Makes a challenge, and what its plan says of it. is_done: whether all of this is done."""

    def __init__(
        self,
        plan: ChallengePlan,
        request: str,
        servers: Sequence[SharingServer],
        history: RunObservations,
        chance: Chance,
        dice: Random,
    ) -> None:
        self._plan = plan
        self._request = request
        self._servers = servers
        self._history = history
        self._chance = chance
        self._dice = dice
        self.is_done = False

    async def challenge(self) -> None:
        """Do so, at the time that is planned."""
        plan, story = self._plan, ChallengeStory(self._plan.challenger)
        await asyncio.sleep(plan.after_ms / 1_000)
        while not story.challenge_id:
            server = await self._server()
            try:
                story.challenge_id = await server.ask(self._make(server))
            except Refusal as refusal:
                if refusal.reason not in TRY_AGAIN:
                    raise
                await asyncio.sleep(PAUSE_S)
        self._history.challenges.append(story)
        await asyncio.sleep(plan.later_ms / 1_000)
        await asyncio.gather(*(self._act(story, player, accepts) for player, accepts in plan.acts))
        self.is_done = True

    def _call(self, server: SharingServer, player: str) -> Call:
        return Call(server.data.secrets[player], ADDRESS)

    async def _make(self, server: SharingServer) -> str:
        plan, players = self._plan, server.gate.players
        call, terms = self._call(server, plan.challenger), players.terms(GAME, TIME, False, 0)
        if plan.opponent:
            return (await players.challenge(call, self._request, plan.opponent, terms)).challenge_id
        return (await players.seek(call, self._request, terms)).challenge_id

    async def _server(self) -> SharingServer:
        """Return a server that is up, once there is one."""
        while True:
            server = self._dice.choice(self._servers)
            if server.is_up:
                return server
            await asyncio.sleep(PAUSE_S)

    async def _act(self, story: ChallengeStory, player: str, accepts: bool) -> None:
        """Accept or decline, at any server; repeat it until the answer is final, if the plan says so."""
        story.asked.append((player, accepts))
        while True:
            server = await self._server()
            if accepts and self._chance(Fault.ACCEPTING):
                server.kill(self._dice.randint(0, MOST_STEPS))
            try:
                match_id = await server.ask(self._answer(server, story.challenge_id, player, accepts))
            except Refusal as refusal:
                if refusal.reason not in TRY_AGAIN:
                    story.answers.append(ChallengeAnswer(player, accepts, "", refusal.reason))
                    return
            else:
                story.answers.append(ChallengeAnswer(player, accepts, match_id, None))
                return
            if not self._plan.repeats:
                return
            await asyncio.sleep(PAUSE_S)

    async def _answer(self, server: SharingServer, challenge_id: str, player: str, accepts: bool) -> str:
        players, call = server.gate.players, self._call(server, player)
        if accepts:
            return (await players.accept_challenge(call, challenge_id)).id
        await players.decline_challenge(call, challenge_id, "")
        return ""


async def note_ends(history: RunObservations, directory: Directory) -> None:
    """Note what the store has of each challenge at the end of a run, and of which matches its challenger was told."""
    notices = await directory.notices(0, ALL)
    for story in history.challenges:
        story.end = await directory.challenge(story.challenge_id)
        story.told = [
            notice.detail
            for notice in notices
            if notice.kind is NoticeKind.CHALLENGE
            and notice.subject == story.challenge_id
            and notice.receiver == story.challenger
            and notice.detail
        ]
