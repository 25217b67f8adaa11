"""The testbed looks at the stream that the bot has now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from arbiter_protos.v1 import play_pb2

from arbiter.conformance import testbed
from arbiter.conformance.bot_under_test import Launch
from arbiter.conformance.proxy import ProxiedStream
from arbiter.conformance.running_arbiter import running_arbiter
from tests.conformance.test_kit import PATIENT, SMALL_BOT


@pytest.mark.long
async def test_a_bot_whose_first_stream_ends_before_it_is_answered_is_ready_on_its_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the arbiter may not get the first hello: the kit waited for its answer until the time limit."""
    async with running_arbiter() as place:
        player = place.new_player()
        launch = Launch(SMALL_BOT, tmp_path / "log")
        async with testbed.Testbed(place, player, await place.token(player), launch, PATIENT) as bed:
            lost: list[play_pb2.PlayAct] = []
            connected = bed.connected

            def loses_the_first_hello(act: play_pb2.PlayAct) -> Sequence[play_pb2.PlayAct]:
                if not lost:
                    lost.append(act)
                    return ()
                return (act,)

            async def ends_when_connected(within_s: float, after_s: float) -> ProxiedStream:
                stream = await connected(within_s, after_s)
                stream.end()
                return stream

            bed.proxy.up = loses_the_first_hello
            monkeypatch.setattr(bed, "connected", ends_when_connected)
            await bed.ready()
            assert lost[0].HasField("hello")
            assert bed.proxy.live.opened.met
