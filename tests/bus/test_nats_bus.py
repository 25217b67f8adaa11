"""The adapter with a real NATS: connections that are refused, lost and replaced, and messages of others."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import nats
import nkeys
import pytest
from nats.aio.msg import Msg

from arbiter.bootstrap.bus import make_bus
from arbiter.bus.messages import Envelopes
from arbiter.bus.nats_bus import NOT_YET, NatsBus
from arbiter.config import load
from arbiter.errors import OperatorError
from arbiter.service.ports.bus import Message, Report, StreamOpened
from arbiter.service.ports.journal import StoredRecord, Subject
from arbiter.testing.network import Network
from tests.bus.nats import WAIT_S, Nats
from tests.certificates import Identity
from tests.documents import block, commands

pytestmark = pytest.mark.toolchain

ENVELOPES = Envelopes(b"signature")
REPORT = Report("one", 1, 2, 3)


@asynccontextmanager
async def running(*buses: NatsBus) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(bus.run()) for bus in buses]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def bus(*servers: str, **given: Any) -> NatsBus:
    return NatsBus(servers, ENVELOPES, **given)


def heard(by: NatsBus) -> list[Message]:
    messages: list[Message] = []
    by.listen(messages.append)
    return messages


async def passes(sender: NatsBus, messages: list[Message]) -> None:
    """Wait until a message passes."""
    messages.clear()
    async with asyncio.timeout(WAIT_S):
        while not messages:
            sender.publish(REPORT)
            await asyncio.sleep(0.01)
    assert set(messages) == {REPORT}


async def test_messages_go_to_the_others_and_not_to_the_sender() -> None:
    with Nats() as server:
        one, other = bus(server.url), bus(server.url)
        own, received = heard(one), heard(other)
        async with running(one, other):
            await until(lambda: not (one.trouble or other.trouble))
            sent: list[Message] = [REPORT, StreamOpened("one", "alice"), REPORT]
            for message in sent:
                one.publish(message)
            await until(lambda: len(received) == len(sent))
        assert received == sent
        assert own == []


async def test_nats_may_come_later_and_go_and_come_back() -> None:
    server = Nats()
    one, other = bus(server.url), bus(server.url)
    received = heard(other)
    assert one.trouble == NOT_YET
    async with running(one, other):
        await until(lambda: one.trouble not in ("", NOT_YET))
        for _ in range(2):
            with server:
                await passes(one, received)
            await until(lambda: bool(one.trouble and other.trouble))
            one.publish(REPORT)  # it is dropped
            assert not one._waiting


async def test_a_connection_that_says_nothing_is_given_up() -> None:
    with Nats() as server:
        async with Network(server.address) as network:
            one, other = bus(f"nats://{network.address}"), bus(server.url)
            received = heard(other)
            async with running(one, other):
                await passes(one, received)
                with network.vanished():
                    await until(lambda: bool(one.trouble))
                await passes(one, received)


async def test_another_server_of_the_cluster_is_taken() -> None:
    with Nats() as server:
        one, other = bus("nats://127.0.0.1:1", server.url), bus(server.url)
        received = heard(other)
        async with running(one, other):
            await passes(one, received)


async def test_messages_of_others_are_counted_and_ignored() -> None:
    with Nats() as server:
        one, other = bus(server.url), bus(server.url)
        received = heard(other)
        async with running(one, other):
            await passes(one, received)
            async with await nats.connect(server.url) as stranger:
                for data in (b"", b"x" * 100_000, Envelopes(b"other").seal(REPORT)):
                    await stranger.publish(ENVELOPES.subject, data)
            await until(lambda: other.refused == 3)
            await passes(one, received)


async def test_stores_that_share_a_nats_do_not_hear_of_each_other() -> None:
    with Nats() as server:
        one, other = bus(server.url), bus(server.url)
        foreign = NatsBus([server.url], Envelopes(b"other"))
        received = heard(foreign)
        async with running(one, other, foreign):
            await until(lambda: not foreign.trouble)
            await passes(one, heard(other))
        assert received == []
        assert foreign.refused == 0


async def test_a_client_of_the_nats_reads_nothing_of_the_records() -> None:
    read: list[bytes] = []
    record = StoredRecord(7, "m-confidential", 1, b'{"position": "a1"}', Subject.MATCH)
    told = Report("server-1", 1, 2, 3, (record,))

    async def arrived(message: Msg) -> None:
        read.append(message.data)

    with Nats() as server:
        one, other = bus(server.url), bus(server.url)
        async with running(one, other):
            reader = await nats.connect(server.url)
            await reader.subscribe(">", cb=arrived)
            await reader.flush()
            received = heard(other)
            await passes(one, received)
            one.publish(told)
            await until(lambda: told in received)
            await until(lambda: len(read) >= len(received))
            await reader.close()
    assert not [data for data in read for word in (b"server-1", b"m-confidential", b"position") if word in data]


@pytest.mark.parametrize(("options", "user"), [("--user me --pass secret", "me:secret@"), ("--auth token", "token@")])
async def test_passwords_and_tokens(options: str, user: str) -> None:
    with Nats(*options.split()) as server:
        right, wrong = bus(server.url.replace("//", f"//{user}")), bus(server.url.replace("//", "//me:wrong@"))
        async with running(right, wrong):
            await until(lambda: not right.trouble)
            await until(lambda: wrong.trouble not in ("", NOT_YET))
            await asyncio.wait_for(right.round_trip_ms(), WAIT_S)
            with pytest.raises(NatsBus.FAILURES):
                await wrong.round_trip_ms()


async def test_tls_by_an_authority_of_the_settings(tmp_path: Path) -> None:
    identity, other = Identity(tmp_path, "nats"), Identity(tmp_path, "other")
    options = ("--tls", "--tlscert", str(identity.certificate_file), "--tlskey", str(identity.key_file))
    with Nats(*options) as server:
        url = server.url.replace("nats://", "tls://")
        trusted = make_bus(load(None, bus=url, bus_authority=identity.certificate_file), None)
        assert await trusted.round_trip_ms() > 0
        for settings in (load(None, bus=url, bus_authority=other.certificate_file), load(None, bus=url)):
            with pytest.raises(NatsBus.FAILURES):
                await make_bus(settings, None).round_trip_ms()


class Issuer:
    """A key of NATS that issues claims: of an operator, an account or a user."""

    def __init__(self, prefix: int) -> None:
        self.seed = nkeys.encode_seed(os.urandom(32), prefix)
        self._pair = nkeys.from_seed(bytearray(self.seed))
        self.name = self._pair.public_key.decode()

    def issue(self, subject: str, name: str, kind: dict[str, object]) -> str:
        """Return claims about a subject as a JSON Web Token."""
        claims = {"jti": name, "iat": 1, "iss": self.name, "sub": subject, "name": name, "nats": {"version": 2, **kind}}
        token = ".".join(
            _encoded(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, claims)
        )
        return f"{token}.{_encoded(self._pair.sign(token.encode()))}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_a_file_of_credentials(tmp_path: Path) -> None:
    operator, account, user = (
        Issuer(nkeys.PREFIX_BYTE_OPERATOR),
        Issuer(nkeys.PREFIX_BYTE_ACCOUNT),
        Issuer(nkeys.PREFIX_BYTE_USER),
    )
    limits = {"subs": -1, "data": -1, "payload": -1, "conn": -1, "imports": -1, "exports": -1}
    configuration = tmp_path / "nats.conf"
    configuration.write_text(
        f"operator: {operator.issue(operator.name, 'operator', {'type': 'operator'})}\nresolver: MEMORY\n"
        f"resolver_preload: {{{account.name}: "
        f"{operator.issue(account.name, 'account', {'type': 'account', 'limits': limits})}}}\n"
    )
    claims = account.issue(user.name, "user", {"type": "user", "subs": -1, "data": -1, "payload": -1})
    credentials = tmp_path / "arbiter.creds"
    credentials.write_text(
        f"-----BEGIN NATS USER JWT-----\n{claims}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    with Nats("--config", str(configuration)) as server:
        assert await make_bus(load(None, bus=server.url, bus_credentials=credentials), None).round_trip_ms() > 0
        with pytest.raises(NatsBus.FAILURES):
            await make_bus(load(None, bus=server.url), None).round_trip_ms()
    with pytest.raises(OperatorError, match=r"no file of credentials for the bus at .*nowhere"):
        make_bus(load(None, bus=server.url, bus_credentials=tmp_path / "nowhere"), None)


def test_an_authority_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"can't read the authority of the bus in .*nowhere"):
        make_bus(load(None, bus="tls://a", bus_authority=tmp_path / "nowhere"), None)
    (tmp_path / "empty").touch()
    with pytest.raises(OperatorError, match=r"can't read the authority of the bus in .*empty"):
        make_bus(load(None, bus="tls://a", bus_authority=tmp_path / "empty"), None)


async def test_the_commands_of_the_page() -> None:
    start, serve = (shlex.split(command) for command in commands(block("deploy/SERVERS.md", "nats-server")))
    assert start[:3] == ["nats-server", "--addr", "10.0.0.5"]
    setting = next(word.removeprefix("ARBITER_BUS=") for word in serve if word.startswith("ARBITER_BUS="))
    with Nats(*start[3:]) as server:
        here = make_bus(load(None, bus=setting.replace("10.0.0.5:4222", server.address)), None)
        assert await here.round_trip_ms() > 0
        with pytest.raises(NatsBus.FAILURES):
            await bus(server.url).round_trip_ms()


async def test_it_ends_whenever_it_is_cancelled() -> None:
    """The library swallows a cancellation in some of its calls."""
    with Nats() as server:
        for step in range(150):
            one = bus(server.url)
            running = asyncio.create_task(one.run())
            for _ in range(step % 50):
                await asyncio.sleep(0)
            if step >= 50:
                await until(lambda: not one.trouble)  # noqa: B023
                one.publish(REPORT)
                for _ in range(step % 50):
                    await asyncio.sleep(0)
            running.cancel()
            async with asyncio.timeout(WAIT_S):
                await asyncio.gather(running, return_exceptions=True)


async def test_it_ends_though_an_attempt_to_connect_fails_at_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`asyncio.wait_for` raises the failure then, not the cancellation, and the library would try again for ever."""

    async def refused(**_: object) -> NoReturn:
        task.cancel()
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio, "open_connection", refused)
    async with asyncio.timeout(WAIT_S):
        task = asyncio.create_task(bus("nats://127.0.0.1:1").run())
        await asyncio.wait({task})
    assert task.cancelled()
