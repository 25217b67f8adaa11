"""TLS, with certificates made for the tests."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_protos.v1 import server_pb2, server_pb2_grpc

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates"),
]


class Informer(server_pb2_grpc.ServerServiceServicer):
    """Returns its information."""

    async def GetServerInfo(self, request: Any, context: Any) -> server_pb2.GetServerInfoResponse:  # noqa: N802
        return server_pb2.GetServerInfoResponse(software="arbiter")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a root certificate, and certificates of a server and a client that it signed."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "root.key", "-out", "root.pem", "-subj", "/CN=root", "-days", "2")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        sign = ("-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", "1", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *sign)
    return folder


@pytest.fixture(params=[False, True], ids=["tls", "mtls"])
async def secure(request: pytest.FixtureRequest, certificates: Path) -> AsyncIterator[tuple[str, bool]]:
    """A server with TLS, which asks for the client's certificate or not."""
    pair = ((certificates / "server.key").read_bytes(), (certificates / "server.pem").read_bytes())
    root = (certificates / "root.pem").read_bytes()
    server = grpc.aio.server()
    server_pb2_grpc.add_ServerServiceServicer_to_server(Informer(), server)
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair], root, request.param))
    await server.start()
    yield f"127.0.0.1:{port}", request.param
    await server.stop(grace=None)


async def test_a_client_trusts_the_root_and_presents_its_certificate(
    secure: tuple[str, bool], certificates: Path
) -> None:
    address, mutual = secure
    shown = (certificates / "client.pem", certificates / "client.key") if mutual else (None, None)
    async with arb.Client(address, tls=arb.Tls(certificates / "root.pem", *shown)) as client:
        assert (await client.server_info()).software == "arbiter"


async def test_a_client_without_the_right_certificate_gets_a_clear_error(
    secure: tuple[str, bool], certificates: Path
) -> None:
    address, mutual = secure
    wrong = [None] if not mutual else [None, arb.Tls(certificates / "root.pem")]
    for tls in wrong:
        async with arb.Client(address, tls=tls, patience_s=0) as client:
            with pytest.raises(arb.ConnectionFailed, match="does it speak TLS"):
                await client.server_info()


async def test_a_server_with_an_unknown_certificate_is_not_trusted(secure: tuple[str, bool]) -> None:
    address, _ = secure
    async with arb.Client(address, tls=arb.Tls(), patience_s=0) as client:
        with pytest.raises(arb.ConnectionFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await client.server_info()
