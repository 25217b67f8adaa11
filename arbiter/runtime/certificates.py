"""The server's TLS certificate, its key, and the authority of its clients: read again while the server runs.

Whoever renews a certificate replaces its files. They are looked at every LOOK_S, and at once when the server is told
to (SIGHUP). Only files that belong together are taken, so a look between the writes of the two changes nothing. Open
connections keep what they began with.
"""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.service.ports.log import Logger

LOOK_S: Final = 20.0  #: between two looks at the files
SOON: Final = timedelta(days=14)  #: a certificate that expires in less is said to, once a day
DAY: Final = timedelta(days=1)
TRIES: Final = 3  #: reads, if the files are replaced meanwhile


class Pems(NamedTuple):
    """The content of the files, as PEM: the chain of the server's certificate, its key, the authority of clients."""

    certificate: bytes
    key: bytes
    authority: bytes | None


class Expiry(NamedTuple):
    """The certificate that expires first, of the server's chain and the authority of its clients."""

    file: Path
    subject: str
    begins: datetime
    ends: datetime


class ServedCertificate:
    """What the server presents to new clients, and by what it tries those of clients."""

    def __init__(self, settings: Settings) -> None:
        """Read the files that the settings name. Raises OperatorError if they can't be used."""
        self._settings = settings
        self.pems, self._context, self.first_to_expire = _read(settings)
        self._refused = ""
        self._warned = datetime.min.replace(tzinfo=UTC)

    @staticmethod
    def of(settings: Settings) -> ServedCertificate | None:
        """Return what settings name; None for a server without TLS. Raises OperatorError."""
        named = (settings.tls_certificate, settings.tls_key, settings.tls_client_authority)
        return ServedCertificate(settings) if any(named) else None

    def renew(self, log: Logger) -> bool:
        """Take the files if they have changed and can be used; return whether they were taken.

        Others change nothing: the log says so (`certificate_not_taken`), and so it does for a certificate that expires
        soon.
        """
        try:
            pems, context, first = _read(self._settings)
        except OperatorError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                log.error("certificate_not_taken", why=self._refused)
            return False
        self._refused = ""
        is_new = pems != self.pems
        self.pems, self._context, self.first_to_expire = pems, context, first
        now = datetime.now(UTC)
        if is_new:
            log.info("certificate_taken", expires=f"{first.ends:%Y-%m-%d %H:%M}Z")
        if first.ends - now < SOON and (is_new or now - self._warned >= DAY):
            self._warned = now
            log.warning("certificate_expires", file=str(first.file), at=f"{first.ends:%Y-%m-%d %H:%M}Z")
        return is_new

    async def watch(self, log: Logger) -> NoReturn:
        """Renew the certificate whenever its files have changed."""
        while True:
            await asyncio.to_thread(self.renew, log)
            await asyncio.sleep(LOOK_S)

    def follow(self, context: ssl.SSLContext) -> None:
        """Make a server's context present the newest certificate in each new handshake."""
        # OpenSSL calls it in each handshake, with and without the name of a server.
        context.sni_callback = self._choose

    def _choose(self, connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._context


def _read(settings: Settings) -> tuple[Pems, ssl.SSLContext, Expiry]:
    """Return the content of the files, a context with it, and what expires first. Raises OperatorError."""
    certificate, key, authority = settings.tls_certificate, settings.tls_key, settings.tls_client_authority
    if certificate is None or key is None:
        raise OperatorError("TLS needs both a certificate and its key: give --tls-certificate and --tls-key")
    for _ in range(TRIES):
        before = _pems(certificate, key, authority)
        context = _context(certificate, key, authority)
        if _pems(certificate, key, authority) == before:
            return before, context, _first_to_expire(before, certificate, authority)
    raise OperatorError(f"{certificate} and {key} are being replaced")


def _pems(certificate: Path, key: Path, authority: Path | None) -> Pems:
    try:
        return Pems(certificate.read_bytes(), key.read_bytes(), authority.read_bytes() if authority else None)
    except OSError as error:
        raise OperatorError(f"can't read {error.filename}: {error.strerror}") from None


def _first_to_expire(pems: Pems, certificate: Path, authority: Path | None) -> Expiry:
    from cryptography import x509  # a server without TLS starts without it

    try:
        own = x509.load_pem_x509_certificates(pems.certificate)
        others = x509.load_pem_x509_certificates(pems.authority) if pems.authority is not None else []
    except ValueError as error:
        raise OperatorError(f"{certificate} or {authority} is no certificate, as PEM: {error}") from None
    first = min((*own, *others), key=lambda each: each.not_valid_after_utc)
    file = certificate if first in own or authority is None else authority
    return Expiry(file, first.subject.rfc4514_string(), first.not_valid_before_utc, first.not_valid_after_utc)


def _context(certificate: Path, key: Path, authority: Path | None) -> ssl.SSLContext:
    # gRPC would only report that it cannot listen: what is wrong is found here, to name it.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        raise OperatorError(f"{certificate} and {key} are no certificate and its unencrypted key, as PEM") from None
    except OSError as error:
        raise OperatorError(f"can't read {certificate} or {key}: {error.strerror}") from None
    try:
        if authority is not None:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(authority)
    except ssl.SSLError:
        raise OperatorError(f"{authority} holds no certificate, as PEM") from None
    except OSError as error:
        raise OperatorError(f"can't read {authority}: {error.strerror}") from None
    return context
