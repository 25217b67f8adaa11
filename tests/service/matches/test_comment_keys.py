"""The keys of comments: derived again they are equal, each match has another, and none exists without a signing key."""

from __future__ import annotations

from functools import partial

from arbiter.keys.key_ring import SigningKey
from arbiter.matches.commands import Play, Resign
from arbiter.matches.comments import Comment, key_of, opened
from arbiter.matches.events import Created
from arbiter.matches.match import with_position
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.signing import PublicKey
from arbiter.service.matches.comment_keys import CommentKeys
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import NoKeys

OLD, NEW = SigningKey(b"\x01" * 32, 0, 1_000), SigningKey(b"\x02" * 32, 1_000)


class Ring:
    """Keys in memory, newest first."""

    def __init__(self, *keys: SigningKey) -> None:
        self._keys = keys

    def public_keys(self) -> tuple[PublicKey, ...]:
        return tuple(key.public for key in self._keys)

    def sign(self, key_id: str, message: bytes) -> bytes:
        return next(key for key in self._keys if key.public.key_id == key_id).sign(message)


def made(match: str, at: int) -> Created:
    return Created(at, match, "pods", ("alice", "bob"), "1m", Policy(), False, "", "org", "r")


def test_a_key_is_the_same_after_a_rotation() -> None:
    before = CommentKeys(Ring(SigningKey(b"\x01" * 32, 0))).of(made("m1", 5))
    assert len(before) == 32
    assert CommentKeys(Ring(NEW, OLD)).of(made("m1", 5)) == before
    assert CommentKeys(Ring(NEW, OLD)).of(made("m1", 1_000)) != before
    assert CommentKeys(Ring(NEW, OLD)).of(made("m2", 5)) != before


def test_without_a_signing_key_there_is_no_key_of_comments() -> None:
    assert CommentKeys(NoKeys()).of(made("m1", 5)) == b""
    assert CommentKeys(Ring(NEW)).of(made("m1", 5)) == b""


@virtually
async def test_comments_from_before_a_crash_are_public_after_it() -> None:
    server = InMemoryArbiter(signer=Ring(SigningKey(b"\x01" * 32, 0)))
    match = await server.create(policy=Policy(start=ClockStart.AT_ONCE))
    said = Comment(700, ("a1",))
    for ply in range(2):
        if ply:
            await server.restart()
        current = await server.arbiter.matches.match(match.id)
        player = match.players[current.turn - 1]
        move = min(match.game.moves(with_position(current).position))
        await server.arbiter.matches.request(
            player, match.id, partial(Play, request=f"r{ply}", ply=ply, move=move, arrived=0, comment=said)
        )
    await server.restart()
    await server.arbiter.matches.request("alice", match.id, lambda seat: Resign(seat, "enough"))
    ended = (await server.arbiter.matches.match(match.id)).result
    assert ended is not None
    assert opened((await server.arbiter.matches.match(match.id)).comments, key_of(ended.key)) == {0: said, 1: said}
