"""Time controls of a bot: compared by meaning, and refused at the start if they are none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import pytest
from arbiter_protos.v1 import player_pb2

if TYPE_CHECKING:
    from conftest import Peer


class Idle(arb.Bot):
    """A bot that only waits, with other settings."""

    name = "idle"

    def __init__(self, **settings: Any) -> None:
        for name, value in settings.items():
            setattr(self, name, value)

    async def choose(self, turn: arb.Turn) -> str:
        return "a1"


async def answer(peer: Peer, bot: arb.Bot, control: str) -> str:
    """Return the method by which the bot answers a challenge at a time control."""
    task = asyncio.create_task(arb.play(bot, peer.address, token="secret"))
    stream = await peer.stream()
    await stream.meet()
    terms = player_pb2.Terms(game="pods", time_control=control)
    await stream.say(challenge=player_pb2.Challenge(challenge_id="c1", challenger="bob", opponent="alice", terms=terms))
    await peer.until(lambda: bool(peer.asked))
    task.cancel()
    await asyncio.wait([task])
    return peer.asked[0][0]


@pytest.mark.parametrize(
    ("control", "method"),
    [
        ("1m+2s", "AcceptChallenge"),
        ("2m", "AcceptChallenge"),
        ("1m+2sd", "DeclineChallenge"),
        ("of a newer arbiter", "DeclineChallenge"),
    ],
)
async def test_a_bot_plays_at_the_same_time_control_in_another_form(peer: Peer, control: str, method: str) -> None:
    assert await answer(peer, Idle(time_controls=["60s+2s", "120s"]), control) == method


async def test_a_seek_in_another_form_is_found_again_after_a_kill(peer: Peer) -> None:
    terms = player_pb2.Terms(game="pods", time_control="1m")  # as the arbiter writes it
    peer.seeks["s0"] = player_pb2.Challenge(challenge_id="s0", challenger="alice", terms=terms)
    wanted = (arb.Terms("pods", "60s"), arb.Terms("hop-it", "60s"))
    task = asyncio.create_task(arb.play(Idle(seeks=wanted), peer.address, token="secret"))
    await (await peer.stream()).meet()
    await peer.until_asked("CreateSeek")
    task.cancel()
    await asyncio.wait([task])
    assert [request.terms.game for request in peer.requests("CreateSeek")] == ["hop-it"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"time_controls": ["1m", "5 min"]}, r"'5 min' is no time control: expected 5m, 5m\+3s"),
        ({"time_controls": ["200h"]}, "200h in the time control '200h' is more than 168h"),
        ({"time_controls": "1m"}, r"time_controls is '1m': expected a list of them: \['1m'\]"),
        ({"seeks": [arb.Terms("pods", "60")]}, "'60' is no time control"),
    ],
)
async def test_what_is_no_time_control_is_refused_at_the_start(peer: Peer, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(arb.ArbiterError, match=told) as raised:
        await arb.play(Idle(**settings), peer.address, token="secret")
    assert (raised.value.reason, raised.value.code) == (arb.Reason.PARAMETER_INVALID, "INVALID_ARGUMENT")
    assert not peer.asked
    assert peer.streams.empty()
