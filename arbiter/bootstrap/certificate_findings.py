"""`arbiter doctor`: the TLS certificate in the files, and the one that a running server presents."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from arbiter.bootstrap.findings import Finding, Grade
from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.runtime.certificates import ServedCertificate
from arbiter.service.gate.addresses import host_and_port

SOON: Final = timedelta(days=30)  #: a certificate that expires in less is noted
ANSWER_S: Final = 5.0  #: for a server to present its certificate
HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  #: how this machine reaches a server on all its addresses
RENEW: Final = "have it renewed: a running server takes new files within a minute, and at once after SIGHUP"


def in_files(settings: Settings) -> Iterator[Finding]:
    """Yield what is found of the certificate in the files; nothing without TLS."""
    try:
        certificate = ServedCertificate.of(settings)
    except OperatorError as error:
        yield Finding("certificate", Grade.WRONG, str(error))
        return
    if certificate is None:
        return
    first = certificate.first_to_expire
    name = f"{first.file}, of {first.subject or 'nobody'}"
    if first.begins > datetime.now(UTC) <= first.ends:
        text = f"{name}, is valid from {first.begins:%Y-%m-%d} on"
        yield Finding("certificate", Grade.WRONG, text, "look at the clock of this machine, or wait")
    else:
        yield _by_end("certificate", name, first.ends)


def as_served(settings: Settings) -> Iterator[Finding]:
    """Yield what is found of the certificates that a running server presents at its addresses; nothing without TLS."""
    if settings.tls_certificate is None:
        return
    try:
        expected = ssl.PEM_cert_to_DER_cert(_first_pem(settings.tls_certificate.read_text("ascii")))
    except (OSError, ValueError):
        return  # `in_files` has said so
    metrics = settings.metrics_addresses
    for name, address in (("listen", settings.listen), ("web", settings.web), *(("metrics", each) for each in metrics)):
        if address:
            yield _at(name, address, expected)


def _at(name: str, address: str, expected: bytes) -> Finding:
    from cryptography import x509

    subject, look = "served certificate", "look at the server's log, and at the address in its settings"
    try:
        presented = _presented(address)
    except (OSError, ValueError, OperatorError) as error:
        return Finding(subject, Grade.NOTE, f"{address} ({name}) presents none: {error}", look)
    ends = x509.load_der_x509_certificate(presented).not_valid_after_utc
    if presented == expected:
        return _by_end(subject, f"what {address} ({name}) presents", ends)
    text = f"{address} ({name}) presents another certificate than the file holds; it expires on {ends:%Y-%m-%d}"
    advice = "send the server SIGHUP, and look for `certificate_not_taken` in its log"
    return Finding(subject, Grade.WRONG, text, advice)


def _by_end(subject: str, name: str, ends: datetime) -> Finding:
    left = ends - datetime.now(UTC)
    if left < timedelta(0):
        return Finding(subject, Grade.WRONG, f"{name}, has expired on {ends:%Y-%m-%d}", RENEW)
    if left < SOON:
        return Finding(subject, Grade.NOTE, f"{name}, expires in {left.days} days", RENEW)
    return Finding(subject, Grade.GOOD, f"{name}, expires on {ends:%Y-%m-%d}")


def _presented(address: str) -> bytes:
    """Return the certificate that a server on this machine presents (DER). Raises OSError, OperatorError."""
    host, port = host_and_port(address, "to listen on", "127.0.0.1:7400")
    host = host.removeprefix("[").removesuffix("]")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is looked at, and not trusted
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection((HERE.get(host, host), port), ANSWER_S) as plain,
        context.wrap_socket(plain) as connection,
    ):
        return connection.getpeercert(binary_form=True) or b""


def _first_pem(chain: str) -> str:
    begin, end = ssl.PEM_HEADER, ssl.PEM_FOOTER
    return f"{begin}{chain.partition(begin)[2].partition(end)[0]}{end}"
