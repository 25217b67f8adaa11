"""Traces, if the settings ask for them, and where they are sent."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import structlog

from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.service.ports.log import Logger

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
    from opentelemetry.sdk.trace.export import SpanExportResult

    from arbiter.observability.traces import Traces

SEND_S: Final = 2.0  #: for one request to the collector, with its repetitions
MAKE_S: Final = 1.0  #: interval at which spans are made
LAST_S: Final = 3.0  #: for the last spans, when the server stops
PATH: Final = "/v1/traces"  #: of traces at a collector (OTLP over HTTP)


@contextmanager
def tracing(settings: Settings, now_ns: Callable[[], int]) -> Iterator[Traces]:
    """Send traces to the collector of the settings; `now_ns` is the server's clock. Raises OperatorError."""
    try:
        # An extra, which takes a fifth of a second to load.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

        from arbiter.observability.traces import Traces
    except ImportError as error:
        raise OperatorError(
            f"traces need OpenTelemetry, which is not installed ({error.name} is missing): install the package with "
            "its extra, game-arbiter[traces]"
        ) from None
    if not settings.traces.startswith(("http://", "https://")):
        raise OperatorError(
            f"{settings.traces!r} is no address for traces: write the URL of a collector, as http://127.0.0.1:4318"
        )
    log = structlog.get_logger("arbiter.traces")

    class Reporting(SpanExporter):
        """Logs when the collector is gone, and when it is back: its own library does so for every request."""

        def __init__(self, exporter: OTLPSpanExporter) -> None:
            self._exporter = exporter
            self._gone = False

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = self._exporter.export(spans)
            gone = result is not SpanExportResult.SUCCESS
            if gone and not self._gone:
                log.warning("traces_not_sent", to=settings.traces, spans=len(spans))
            elif self._gone and not gone:
                log.info("traces_sent_again", to=settings.traces)
            self._gone = gone
            return result

        def shutdown(self) -> None:
            self._exporter.shutdown()  # type: ignore[no-untyped-call]

    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    url = settings.traces.rstrip("/")
    exporter = OTLPSpanExporter(url if url.endswith(PATH) else url + PATH, timeout=SEND_S)
    processor = BatchSpanProcessor(Reporting(exporter))
    traces = Traces(
        processor, now_ns, settings.traces_share, f"{socket.gethostname()} {settings.listen or settings.web}"
    )
    with _making_spans(traces, processor, log):
        yield traces


@contextmanager
def _making_spans(traces: Traces, processor: SpanProcessor, log: Logger) -> Iterator[None]:
    """Make the spans of traces in a thread. A collector that does not answer can't keep the server from ending."""
    ends = threading.Event()

    def make_spans() -> None:
        goes_on = True
        while goes_on:
            goes_on = not ends.wait(MAKE_S)
            try:
                traces.make_spans()
            except Exception:  # our code has an error, or the library: the next ones may be made
                log.exception("traces_not_made")
        processor.shutdown()

    thread = threading.Thread(target=make_spans, name="traces", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join(LAST_S)
