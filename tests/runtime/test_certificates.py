"""A server's certificate is renewed while it serves: gRPC, page, metrics, and the authority of clients."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
import structlog
from arbiter_protos.v1 import server_pb2, server_pb2_grpc
from structlog.testing import capture_logs

from arbiter.bootstrap import certificate_findings
from arbiter.bootstrap.findings import Grade
from arbiter.bootstrap.world import open_world
from arbiter.config import Settings, load
from arbiter.errors import OperatorError
from arbiter.runtime import certificates as runtime_certificates
from arbiter.runtime.certificates import ServedCertificate
from arbiter.runtime.loopback import free_port
from arbiter.service.ports.log import Logger
from arbiter.testing.served import served
from tests.certificates import Identity
from tests.processes import WAIT_S

LOG: Logger = structlog.get_logger()


def files(folder: Path, identity: Identity) -> dict[str, Path]:
    """Put a certificate where a server looks for it; return the settings. Each file is replaced in one step."""
    given = {"tls_certificate": folder / "server.pem", "tls_key": folder / "server.key"}
    for place, content in zip(given.values(), (identity.certificate, identity.key), strict=True):
        new = place.with_suffix(".new")
        new.write_bytes(content)
        new.replace(place)
    return given


def presented(address: str) -> bytes:
    """Return the certificate that a server presents now (PEM)."""
    host, port = address.removeprefix("https://").partition("/")[0].split(":")
    return ssl.get_server_certificate((host, int(port)), timeout=WAIT_S).encode()


async def asks(address: str, credentials: grpc.ChannelCredentials) -> bool:
    """Return whether a client gets through to a server."""
    async with grpc.aio.secure_channel(address, credentials) as channel:
        try:
            await server_pb2_grpc.ServerServiceStub(channel).GetServerInfo(server_pb2.GetServerInfoRequest())
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return False
    return True


@pytest.mark.long
async def test_a_new_certificate_is_served_to_new_clients_everywhere_while_others_stay_connected(
    tmp_path: Path,
) -> None:
    first, second = Identity(tmp_path, "first"), Identity(tmp_path, "second")
    given = files(tmp_path, first)
    listen, web, metrics = (f"127.0.0.1:{free_port()}" for _ in range(3))
    store = f"sqlite:///{tmp_path}/arbiter.db"
    async with served(open_world, listen=listen, web=web, metrics=metrics, store=store, **given) as server:
        settings = load(None, listen=listen, web=web, metrics=metrics, **given)
        certificate = server.running.certificate
        assert certificate is not None
        async with grpc.aio.secure_channel(listen, grpc.ssl_channel_credentials(first.certificate)) as channel:
            old = server_pb2_grpc.ServerServiceStub(channel)
            await old.GetServerInfo(server_pb2.GetServerInfoRequest())
            addresses = (server.running.page, server.running.metrics)
            assert [await asyncio.to_thread(presented, each) for each in addresses] == [first.certificate] * 2
            files(tmp_path, second)
            found = await asyncio.to_thread(lambda: list(certificate_findings.as_served(settings)))
            assert [each.grade for each in found] == [Grade.WRONG] * 3
            assert all("another certificate" in each.text and "SIGHUP" in each.advice for each in found)
            assert certificate.renew(LOG)
            assert not certificate.renew(LOG), "nothing has changed since"
            assert [await asyncio.to_thread(presented, each) for each in addresses] == [second.certificate] * 2
            assert await asks(listen, grpc.ssl_channel_credentials(second.certificate))
            assert not await asks(listen, grpc.ssl_channel_credentials(first.certificate))
            await old.GetServerInfo(server_pb2.GetServerInfoRequest())
        found = await asyncio.to_thread(lambda: list(certificate_findings.as_served(settings)))
        assert [each.grade for each in found] == [Grade.NOTE] * 3, "it expires in an hour"
        stranger = load(None, listen=f"127.0.0.1:{free_port()}", **given)
        (found_nothing,) = await asyncio.to_thread(lambda: list(certificate_findings.as_served(stranger)))
        assert found_nothing.grade is Grade.NOTE
        assert "presents none" in found_nothing.text


async def test_a_new_authority_of_clients_counts_for_new_connections(tmp_path: Path) -> None:
    own, old, new = (Identity(tmp_path, name) for name in ("own", "old", "new"))
    authority = tmp_path / "clients.pem"
    authority.write_bytes(old.certificate)
    async with served(tls_client_authority=authority, **files(tmp_path, own)) as server:
        clients = [grpc.ssl_channel_credentials(own.certificate, each.key, each.certificate) for each in (old, new)]
        assert [await asks(server.address, each) for each in clients] == [True, False]
        authority.write_bytes(new.certificate)
        assert server.running.certificate is not None
        assert server.running.certificate.renew(LOG)
        assert [await asks(server.address, each) for each in clients] == [False, True]


async def test_a_server_looks_at_the_files_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_certificates, "LOOK_S", 0.001)
    first, second = Identity(tmp_path, "first"), Identity(tmp_path, "second")
    with capture_logs() as said:
        async with served(**files(tmp_path, first)) as server:
            certificate = server.running.certificate
            assert certificate is not None
            files(tmp_path, second)
            async with asyncio.timeout(WAIT_S):
                while certificate.pems.certificate != second.certificate:  # noqa: ASYNC110 - another thread reads it
                    await asyncio.sleep(0)
            assert await asks(server.address, grpc.ssl_channel_credentials(second.certificate))
    assert "certificate_expires" in [line["event"] for line in said]


def test_files_that_can_not_be_used_change_nothing_and_are_said_once(tmp_path: Path) -> None:
    first, second = Identity(tmp_path, "first"), Identity(tmp_path, "second")
    given = files(tmp_path, first)
    certificate = ServedCertificate(load(None, **given))
    with capture_logs() as said:
        for wrong in (second.certificate, b"rubbish", b""):
            given["tls_certificate"].write_bytes(wrong)
            assert not certificate.renew(LOG)
            assert not certificate.renew(LOG)
            assert certificate.pems.certificate == first.certificate
        given["tls_key"].unlink()
        assert not certificate.renew(LOG)
    assert [line["event"] for line in said] == ["certificate_not_taken"] * 2, "the same words are said once"
    files(tmp_path, second)
    assert certificate.renew(LOG)
    assert certificate.pems.certificate == second.certificate


def test_a_certificate_that_expires_soon_is_said_once_a_day(tmp_path: Path) -> None:
    certificate = ServedCertificate(load(None, **files(tmp_path, Identity(tmp_path, "soon"))))
    with capture_logs() as said:
        for _ in range(3):
            assert not certificate.renew(LOG)
    assert [line["event"] for line in said] == ["certificate_expires"]
    assert certificate.first_to_expire.ends - datetime.now(UTC) < timedelta(hours=1)


def test_a_server_without_tls_has_none(tmp_path: Path) -> None:
    assert ServedCertificate.of(Settings()) is None
    assert list(certificate_findings.as_served(Settings())) == []
    with pytest.raises(OperatorError, match="both a certificate and its key"):
        ServedCertificate.of(load(None, tls_client_authority=tmp_path / "clients.pem"))
