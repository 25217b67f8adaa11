"""Arrays in PostgreSQL's binary format: the database reads what was encoded."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
import pytest
from psycopg import pq

from arbiter.store import arrays
from tests.store.postgres import Cluster


def read(cluster: Cluster, kind: str, encoded: bytes) -> object:
    """Have the database read an array, and return what it has read."""
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
        query = f"SELECT $1::{kind}[]::text".encode()
        answer = connection.pgconn.exec_params(query, [encoded], param_formats=[pq.Format.BINARY])
        assert answer.status == pq.ExecStatus.TUPLES_OK, answer.error_message
        read_again = f"SELECT %s::{kind}[]".encode()
        found = connection.execute(read_again, [(answer.get_value(0, 0) or b"").decode()]).fetchone()
        assert found is not None
        return found[0]


@pytest.mark.parametrize("values", [[], [1], [0, -1, 7, 2**63 - 1, -(2**63)]])
def test_bigints(cluster: Cluster, values: Sequence[int]) -> None:
    assert read(cluster, "bigint", arrays.bigints(values)) == values


@pytest.mark.parametrize("values", [[], [True], [False, True, False]])
def test_booleans(cluster: Cluster, values: Sequence[bool]) -> None:
    assert read(cluster, "boolean", arrays.booleans(values)) == values


@pytest.mark.parametrize("values", [[], ["match"], ["", "NULL", 'a "quoted", {text}', "Zoë 象棋 ♞"]])
def test_texts(cluster: Cluster, values: Sequence[str]) -> None:
    assert read(cluster, "text", arrays.texts(values)) == values


@pytest.mark.parametrize("values", [[], [b"body"], [b"", None, bytes(range(256)), b"\\x00", b"a" * 100_000]])
def test_byte_strings(cluster: Cluster, values: Sequence[bytes | None]) -> None:
    assert read(cluster, "bytea", arrays.byte_strings(values)) == values
