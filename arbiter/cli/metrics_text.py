"""The metrics of a server as text in the format of Prometheus: read, and compared with those of a moment ago."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from arbiter.cli.failure import Failure

PATIENCE_S: Final = 10.0
LOG_PLACE: Final = "arbiter_log_place"  #: how far a server has read the log that it shares with others
Labels = frozenset[tuple[str, str]]


class Sample(NamedTuple):
    """All metrics at an instant (of the monotonic clock, in seconds), by name and labels."""

    at_s: float
    values: Mapping[tuple[str, Labels], float]

    def value(self, name: str, **labels: str) -> float:
        """Return a value; 0 if there is none."""
        return self.values.get((name, frozenset(labels.items())), 0.0)

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over all other labels."""
        wanted = set(labels.items())
        return sum(value for (found, its), value in self.values.items() if found == name and wanted <= its)

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return the values of a metric by one of its labels."""
        return {dict(its)[label]: value for (found, its), value in self.values.items() if found == name}

    def label(self, name: str, label: str) -> str:
        """Return a label of a metric that has one value; '' if there is none."""
        return next((dict(its)[label] for found, its in self.values if found == name), "")


class Interval(NamedTuple):
    """Two samples of one server, one after the other."""

    before: Sample
    after: Sample

    @property
    def seconds(self) -> float:
        """The time between the samples."""
        return max(self.after.at_s - self.before.at_s, 1e-9)

    def rate(self, name: str, **labels: str) -> float:
        """Return the growth of a counter in a second, summed over its other labels; 0 after a restart of the server."""
        grown = self.after.total(name, **labels) - self.before.total(name, **labels)
        return max(0.0, grown) / self.seconds

    def rates(self, name: str, label: str) -> dict[str, float]:
        """Return the rates of a counter by one of its labels, the largest first; those that did not grow are left out.

        After a restart of the server, counters begin anew: then there are none.
        """
        before = self.before.by(name, label)
        grown = {word: value - before.get(word, 0.0) for word, value in self.after.by(name, label).items()}
        found = {word: value / self.seconds for word, value in grown.items() if value > 0}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def quantile(self, share: float, name: str, **labels: str) -> float | None:
        """Return a quantile of a histogram's values between the samples; None if there are none.

        As in Prometheus' histogram_quantile, values are taken to be spread evenly within a bucket, and a value above
        the last bound counts as that bound.
        """
        bounds = self._bounds(name, labels)
        if not bounds or bounds[-1][1] <= 0:
            return None
        wanted = share * bounds[-1][1]
        for (low, below), (high, up_to) in pairwise([(0.0, 0.0), *bounds]):
            if up_to >= wanted:
                return low if high == float("inf") else low + (high - low) * (wanted - below) / (up_to - below)
        raise AssertionError("the last bucket has everything")

    def _bounds(self, name: str, labels: Mapping[str, str]) -> list[tuple[float, float]]:
        """Return the upper bounds of a histogram, and the number of values up to each, between the samples."""
        wanted = set(labels.items())
        return sorted(
            (float(dict(its)["le"]), value - self.before.values.get((found, its), 0.0))
            for (found, its), value in self.after.values.items()
            if found == f"{name}_bucket" and wanted <= its
        )


def separated(addresses: str) -> tuple[str, ...]:
    """Return the addresses of metrics that are given with commas between them. Raises Failure."""
    found = tuple(dict.fromkeys(part.strip() for part in addresses.split(",")))
    if not all(found):
        raise Failure(f"{addresses!r} has an empty address: write HOST:PORT, and commas between several")
    return found


def read(address: str, tls_root: Path | None = None) -> Sample:
    """Read the metrics at an address, HOST:PORT or a URL. `tls_root`: a certificate to trust (PEM). Raises Failure."""
    url = address if "://" in address else f"http://{address}/metrics"
    try:
        trusted = ssl.create_default_context(cafile=tls_root) if url.startswith("https:") else None
        with urllib.request.urlopen(url, timeout=PATIENCE_S, context=trusted) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise Failure(f"no metrics at {url} ({why}): start the server with --metrics HOST:PORT") from None
    values = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    if not any(name.startswith("arbiter_") for name, _ in values):
        raise Failure(f"what {url} shows is not an arbiter's: name the address of `arbiter serve --metrics`")
    return Sample(time.monotonic(), values)
