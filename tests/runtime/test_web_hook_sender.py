"""To which addresses deliveries go, whatever stands for them; and to which they never do."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from arbiter.config import WebHookSettings
from arbiter.runtime.web_hook_sender import Addresses, HttpSender
from arbiter.service.ports.web_hooks import DeliveryFailed
from tests.certificates import Identity
from tests.web_hook_receiver import Receiver, receiver

INSIDE = (
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
    *("::1", "::", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::7f00:1"),
    *("2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:80ff:fffe"),  # 6to4; Teredo to 127.0.0.1
)
OUTSIDE = ("93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_reached_only_if_the_operator_allows_it(address: str) -> None:
    assert not Addresses([]).allow(ip_address(address))
    assert not Addresses(["1.2.3.0/24", "2606::/16"]).allow(ip_address(address))
    assert Addresses(["*"]).allow(ip_address(address))


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_public_address_is_reached(address: str) -> None:
    assert Addresses([]).allow(ip_address(address))


def test_a_network_of_the_operator_is_allowed_also_as_mapped_addresses_and_nothing_beside_it() -> None:
    allowed = Addresses(["10.1.0.0/16", "fd00::/8"])
    for address, reached in (
        *(("10.1.2.3", True), ("::ffff:10.1.2.3", True), ("10.2.0.1", False)),
        *(("fd00::1", True), ("fc00::1", False), ("127.0.0.1", False)),
    ):
        assert allowed.allow(ip_address(address)) is reached, address


async def failure(url: str, *networks: str) -> str:
    """Return why a delivery failed."""
    with pytest.raises(DeliveryFailed) as failed:
        await HttpSender(WebHookSettings(networks=networks)).send(url, {}, b"{}")
    return str(failed.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"])
async def test_no_way_to_write_this_machine_reaches_it(host: str) -> None:
    with receiver() as to:
        said = await failure(to.url.replace("127.0.0.1", host))
    assert to.came == []
    assert said.endswith("has no public address, and this server reaches no others"), "not where it leads inside"


class Names:
    """Resolves names as a test says, each time to the next addresses; all other names as ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked = 0
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._resolve)

    def _resolve(self, host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host not in ("hook.example", b"hook.example"):
            return self._real(host, port, *rest, **more)
        self.asked += 1
        addresses = self._answers[min(self.asked, len(self._answers)) - 1]
        return [found for each in addresses for found in self._real(each, port, *rest, **more)]


async def send(to: Receiver, *networks: str) -> None:
    """Deliver something to the receiver by a name."""
    settings = WebHookSettings(networks=networks)
    await HttpSender(settings).send(to.url.replace("127.0.0.1", "hook.example"), {"webhook-id": "1"}, b"{}")


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as to:
        names = Names(monkeypatch, ["127.0.0.1"], ["10.0.0.1"])  # the second answer is for whoever asks again
        await send(to, "127.0.0.1")
        assert (names.asked, len(to.came)) == (1, 1)
        assert to.came[0].headers["host"].startswith("hook.example:")
        with pytest.raises(DeliveryFailed, match=r"hook\.example has no public address"):
            await send(to, "127.0.0.1")
        assert (names.asked, len(to.came)) == (2, 1)


async def test_of_the_addresses_of_a_name_only_the_allowed_ones_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as to:
        Names(monkeypatch, ["10.0.0.1", "127.0.0.2", "127.0.0.1"])
        await send(to, "127.0.0.0/8")  # nothing listens at the second one
        assert len(to.came) == 1


async def test_a_redirect_to_somewhere_is_a_failure() -> None:
    with receiver(lambda _: 307) as to:
        assert await failure(to.url, "*") == "it answered with status 307"
    assert len(to.came) == 1


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with receiver() as to:
        await HttpSender(WebHookSettings(networks=("*",))).send(to.url, {}, b'{"type": "x"}')
    assert len(to.came) == 1


@pytest.mark.parametrize("answer", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000])
async def test_a_receiver_that_speaks_no_http_has_failed(answer: bytes) -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    async with server:
        assert await failure(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", "*")


async def test_an_endless_answer_is_not_read() -> None:
    gone = asyncio.Event()

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            writer.close()
            gone.set()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        await HttpSender(WebHookSettings(networks=("*",))).send(url, {}, b"{}")
        await gone.wait()


async def test_an_address_without_a_listener_and_a_name_without_an_address_fail() -> None:
    assert await failure("http://127.0.0.1:1/", "*")
    assert await failure("http://nowhere.invalid/")


async def test_a_delivery_that_is_given_up_at_any_moment_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    open_now = set[asyncio.StreamWriter]()
    all_closed = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(writer)
        all_closed.clear()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        open_now.remove(writer)
        if not open_now:
            all_closed.set()

    async def resolved(host: str, port: int, **_: Any) -> list[Any]:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    # No thread takes part, so that a number of turns of the loop is always the same moment.
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolved)
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for turns in range(50):
            sending = asyncio.create_task(HttpSender(WebHookSettings(networks=("*",))).send(url, {}, b"{}"))
            for _ in range(turns):
                await asyncio.sleep(0)
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
        await all_closed.wait()


@pytest.mark.parametrize(("host", "why"), [("127.0.0.1", ""), ("localhost", "Hostname mismatch")])
async def test_a_certificate_is_checked_for_the_name_of_the_receiver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, why: str
) -> None:
    identity = Identity(tmp_path, "receiver")
    monkeypatch.setenv("SSL_CERT_FILE", str(identity.certificate_file))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(identity.certificate_file, identity.key_file)

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=context) as server:
        url = f"https://{host}:{server.sockets[0].getsockname()[1]}/"
        if why:
            assert why in await failure(url, "*")
        else:
            await HttpSender(WebHookSettings(networks=("*",))).send(url, {}, b"{}")
