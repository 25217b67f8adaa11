"""A receiver of web hooks: a real HTTP server that notes all deliveries, and answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

WAIT_S: Final = 240.0  #: only a test that hangs takes that long


class Delivery(NamedTuple):
    """A delivery as it came. headers: with names in lower case. status: of the answer, 0 for none."""

    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def type(self) -> str:
        kind: str = json.loads(self.body)["type"]
        return kind

    @property
    def data(self) -> Mapping[str, Any]:
        data: Mapping[str, Any] = json.loads(self.body)["data"]
        return data


class Receiver:
    """All deliveries in order. answer: returns the status for a delivery, 0 to cut the connection; it may wait."""

    def __init__(self, port: int, answer: Callable[[Delivery], int]) -> None:
        self.url: Final = f"http://127.0.0.1:{port}/hook?who=test"
        self.answer = answer
        self._came: list[Delivery] = []
        self._news = threading.Condition()

    def take(self, headers: Mapping[str, str], body: bytes) -> int:
        """Note a delivery; return the status of the answer."""
        status = self.answer(Delivery(headers, body, 0))
        with self._news:
            self._came.append(Delivery(headers, body, status))
            self._news.notify_all()
        return status

    @property
    def came(self) -> list[Delivery]:
        """All deliveries so far, also those that were not accepted."""
        with self._news:
            return list(self._came)

    @property
    def accepted(self) -> list[Delivery]:
        """Those that were accepted."""
        return [each for each in self.came if 200 <= each.status < 300]

    def wait(self, condition: Callable[[Receiver], object]) -> None:
        """Wait until a condition holds that is checked after each delivery."""
        with self._news:
            assert self._news.wait_for(lambda: condition(self), WAIT_S)


@contextmanager
def receiver(answer: Callable[[Delivery], int] = lambda _: 204) -> Iterator[Receiver]:
    """Run a receiver on the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = made.take({name.lower(): value for name, value in self.headers.items()}, body)
            if status:
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("location", made.url)
                self.send_header("content-length", "0")
                self.end_headers()
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Receiver(server.server_port, answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
