from __future__ import annotations

import socket

import pytest

from arbiter.errors import OperatorError
from arbiter.runtime import loopback


def test_a_free_port_can_be_listened_on() -> None:
    port = loopback.free_port()
    assert port in loopback.LISTENERS
    with socket.socket() as listener:
        listener.bind((loopback.HOST, port))


def test_a_port_in_use_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind((loopback.HOST, 0))
        listener.listen()
        taken = listener.getsockname()[1]
        monkeypatch.setattr(loopback, "TRIES", 1)
        monkeypatch.setattr(loopback, "LISTENERS", range(taken, taken + 1))
        with pytest.raises(OperatorError, match=f"no port from {taken} to {taken} is free"):
            loopback.free_port()


def test_a_port_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = loopback.free_port()
    monkeypatch.setattr("random.sample", lambda ports, count: [first, *ports[:count]])
    assert loopback.free_port() != first
