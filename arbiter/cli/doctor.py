"""`arbiter doctor`: looks at a configuration, at everything that a server needs, and at a running server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from arbiter import __version__
from arbiter.bootstrap.disk_growth import growth_of_logs
from arbiter.bootstrap.examination import examine
from arbiter.bootstrap.findings import Finding, Grade
from arbiter.cli.argument_types import Flag
from arbiter.cli.failure import FAILED, Failure
from arbiter.cli.metrics_text import LOG_PLACE, Interval, Sample, read, separated
from arbiter.cli.server_options import ConfigOption, KeysOption, StoreOption
from arbiter.cli.terminal import counted, on_terminal, say, write_json, write_line
from arbiter.config import Settings, load
from arbiter.errors import OperatorError

STYLES: Final = {Grade.GOOD: "green", Grade.NOTE: "yellow", Grade.WRONG: "bold red"}
GB: Final = 1_000_000_000
NEARLY: Final = 0.9  #: of a limit, from which on it is noted
CLOCK_APART_S: Final = 1.0
MANY_WRITES: Final = 1_000  #: queued, from which on the store is slower than the players
SLOW_COMMIT_S: Final = 0.1
SLOW_MOVE_S: Final = 0.25
LATE_S: Final = 0.1
APART_S: Final = 1.0  #: between two looks at what servers have read of the log: one that follows it needs less
LOOK_AT_LOG: Final = "look at its log; deploy/LOG.md says what each line means"


def doctor(
    *,
    metrics: str | None = None,
    store: StoreOption = None,
    keys: KeysOption = None,
    config: ConfigOption = None,
    tls_root: Path | None = None,
    logs: Path | None = None,
    disk_gb: Annotated[int | None, Parameter(validator=Number(gte=1, lte=1_000_000))] = None,
    json: Flag = False,
) -> int:
    """Look at a configuration and everything that a server needs, say what is wrong, and what to do.

    It looks at the versions of programs, the addresses, the TLS certificates, the store (its version, its lock, the
    database's settings, clock and connections), the signing keys, the permissions of its files, the disk (space, time
    of a flush), the limit of open files, the system's clock, the bus, and the collector of traces; with metrics also at
    the running server. Nothing is changed. The exit code is 1 if something is wrong. Run it as the user that runs the
    server.

    :param metrics: The address of a running server's metrics, as HOST:PORT, or their URL; those of several servers of
        one store with commas: then it also compares their versions, and how far they have read the log. [default: as
        the server's settings, if a server serves the store]
    :param tls_root: Trust this certificate (PEM), for metrics with https.
    :param logs: Say when the disk of this folder of logs is full, by what was logged in the last week: that of a run's
        bots, or of the server's log.
    :param disk_gb: The size of the store's disk in GB, for a database on another machine: say when it is full, if the
        store is alone on it.
    :param json: Print JSON: a list of objects with subject, grade (good, note, wrong), text and advice.
    """
    found = list(_findings(metrics, store, keys, config, tls_root, (disk_gb or 0) * GB))
    if logs is not None:
        found.append(growth_of_logs(logs))
    if json:
        write_json([each._asdict() for each in found])
    else:
        for each in found:
            _show(each)
    wrong = sum(each.grade is Grade.WRONG for each in found)
    if not json:
        noted = sum(each.grade is Grade.NOTE for each in found)
        say(f"{wrong or 'Nothing'} wrong, {counted(noted, 'note')}.", "bold red" if wrong else "bold green")
    return FAILED if wrong else 0


def _findings(
    metrics: str | None,
    store: str | None,
    keys: Path | None,
    config: Path | None,
    tls_root: Path | None,
    disk_bytes: int,
) -> Iterator[Finding]:
    try:
        settings = load(config, store=store, keys=keys)
    except OperatorError as error:
        yield Finding("configuration", Grade.WRONG, str(error))
        return
    yield Finding("configuration", Grade.GOOD, str(config) if config else "no file: the environment and the defaults")
    findings, served, newest = examine(settings, disk_bytes)
    yield from findings
    addresses = list(separated(metrics)) if metrics is not None else []
    if not addresses and served:
        scheme = "https" if settings.tls_certificate else "http"
        addresses = [f"{scheme}://{address}/metrics" for address in settings.metrics_addresses]
    samples: dict[str, Sample] = {}
    for address in addresses:
        try:
            samples[address] = read(address, tls_root)
        except Failure as failure:
            yield Finding("server", Grade.WRONG, str(failure))
        else:
            yield from _server(address, samples[address], settings)
    yield from _versions({address: _version(sample) for address, sample in samples.items()})
    yield from _places(samples, newest if served else 0, tls_root)
    if served and not addresses:
        text = "its metrics are not looked at, as the settings name no address for them"
        yield Finding("server", Grade.NOTE, text, "start it with --metrics HOST:PORT, or name them here with --metrics")


def _version(sample: Sample) -> str:
    return sample.label("arbiter_build_info", "version")


def _server(address: str, sample: Sample, settings: Settings) -> Iterator[Finding]:
    """Yield what a running server's metrics show. `settings` are taken to be its own."""
    version = _version(sample)
    live, players = sample.value("arbiter_live_matches"), sample.value("arbiter_connected_players")
    text = f"arbiter {version} at {address} has {live:.0f} live matches and {players:.0f} connected players"
    if version == __version__:
        yield Finding("server", Grade.GOOD, text)
    else:
        yield Finding(
            "server", Grade.NOTE, f"{text}; installed here is {__version__}", "restart it to run this version"
        )
    yield from _faults(sample)
    yield from _limits(sample, settings)
    apart_s = sample.value("arbiter_clock_offset_seconds")
    if abs(apart_s) > CLOCK_APART_S:
        text = f"the server's clock is {apart_s:+,.1f} s apart from the system's: the system's was set, or is wrong"
        yield Finding("time", Grade.NOTE, text, "synchronise the machine (NTP); no chess clock is affected")
    yield from _times(Interval(Sample(0.0, {}), sample))


def _versions(versions: Mapping[str, str]) -> Iterator[Finding]:
    """Yield whether servers that share a store, by their addresses, run one version."""
    if len(set(versions.values())) > 1:
        each = ", ".join(f"{version} at {address}" for address, version in versions.items())
        advice = "finish the upgrade: restart those of the older version"
        yield Finding("versions", Grade.NOTE, f"the servers run different versions: {each}", advice)
    elif len(versions) > 1:
        text = f"{counted(len(versions), 'server')} run version {next(iter(versions.values()))}"
        yield Finding("versions", Grade.GOOD, text)


def _places(before: Mapping[str, Sample], newest: int, tls_root: Path | None) -> Iterator[Finding]:
    """Yield whether servers follow the log of the store that they share.

    Servers are read at different instants, and the log grows meanwhile. So what each has read APART_S later is compared
    with what the others had read before, and with the store's `newest` record (0: not known).

    before: what each server showed, by its address. One that shares its store with nobody reads no log, and shows 0.
    """
    places = {address: int(sample.value(LOG_PLACE)) for address, sample in before.items()}
    following = [address for address, place in places.items() if place]
    if not following or (len(places) == 1 and not newest):
        return
    for address in (address for address, place in places.items() if not place):
        text = f"the server at {address} has read nothing of the event log that the others follow"
        advice = "it has just started, or it is on another store: compare the setting `store`, and look again"
        yield Finding("log", Grade.NOTE, text, advice)
    time.sleep(APART_S)
    first = max(following, key=lambda address: places[address])
    by, most = ("the store", newest) if newest > places[first] else (f"the server at {first}", places[first])
    level = 0
    for address in following:
        try:
            place = int(read(address, tls_root).value(LOG_PLACE))
        except Failure as failure:
            yield Finding("server", Grade.WRONG, str(failure))
            continue
        if place >= most:
            level += 1
        else:
            yield _behind(address, place - places[address], most - place, f"{by} had number {most:,} before")
    if level == len(following):
        subject = "the server has" if level == 1 else f"{level} servers have"
        yield Finding("log", Grade.GOOD, f"{subject} read the event log up to number {most:,} or further")


def _behind(address: str, read_since: int, missing: int, what_was_there: str) -> Finding:
    """Return what is said of a server that lacks records which were there APART_S ago. read_since: in that time."""
    text = f"the server at {address} is {counted(missing, 'record')} behind the event log: {what_was_there}"
    advice = (
        "look for the lines `log_not_followed` and `log_listener_failed` of it, at its event loop and its way to the "
        "database; if it does not catch up, stop it: its players go on elsewhere"
    )
    if read_since > 0:
        return Finding("log", Grade.NOTE, f"{text}; it reads on, and has read {read_since:,} since", advice)
    why = "it has read nothing since, so its players and observers do not hear of what happens elsewhere"
    return Finding("log", Grade.WRONG, f"{text}; {why}", advice)


def _faults(sample: Sample) -> Iterator[Finding]:
    faulted = sample.value("arbiter_matches_ended_total", cause="arbiter")
    if faulted:
        text = f"{counted(int(faulted), 'match', 'matches')} ended by a fault of the arbiter since its start"
        yield Finding("faults", Grade.WRONG, text, f"report it, with the transcript; {LOOK_AT_LOG}")
    for reason, grade, why in (
        ("STORE_UNAVAILABLE", Grade.NOTE, "the store could not be used"),
        ("RECORD_DAMAGED", Grade.WRONG, "a record is damaged"),
    ):
        refused = sample.value("arbiter_refusals_total", reason=reason)
        if refused:
            text = f"{counted(int(refused), 'request')} refused since its start, because {why}"
            yield Finding("refusals", grade, text, f"`arbiter store check`; {LOOK_AT_LOG}")
    yield from _of_several(sample)
    queued = sample.value("arbiter_queued_writes")
    if queued >= MANY_WRITES:
        text = f"{queued:,.0f} writes wait for the store: it is slower than the players"
        yield Finding("queue", Grade.WRONG, text, "use a faster disk, or a nearer database")


def _of_several(sample: Sample) -> Iterator[Finding]:
    """Yield what has happened between the servers of a store."""
    taken, gone = sample.value("arbiter_taken_for_gone_total"), sample.value("arbiter_failovers_total")
    if taken:
        text = (
            f"{counted(int(taken), 'time')} since its start the others took this server for gone, or may have: it "
            "could not say in time that it is there; its players went to them, and nobody was charged"
        )
        advice = "look at the load of this machine, the database and the network; or raise limits.server_silence_ms"
        yield Finding("alive", Grade.NOTE, text, f"{advice} on all servers")
    if gone:
        text = f"{counted(int(gone), 'other server')} gone since its start, or silent for too long"
        yield Finding("failovers", Grade.NOTE, text, "look at their logs, and at the memory of their machines")
    if sample.value("arbiter_bus_lost"):
        text = "it does not hear all other servers by the bus, and reads the store for news instead"
        yield Finding("bus", Grade.NOTE, text, "start NATS, or look at the network; `bus_lost` in its log says more")


def _limits(sample: Sample, settings: Settings) -> Iterator[Finding]:
    limits = settings.limits
    for subject, value, most, what, advice in (
        (
            "matches",
            sample.value("arbiter_live_matches"),
            limits.open_matches,
            "matches have not ended",
            "raise limits.open_matches: further matches are refused",
        ),
        (
            "observers",
            sample.value("arbiter_observers"),
            limits.observers,
            "streams of events are read",
            "raise limits.observers: further ones are refused",
        ),
        (
            "open files",
            sample.value("process_open_fds"),
            sample.value("process_max_fds"),
            "files and connections are open",
            "raise LimitNOFILE in the unit, or lower limits.connections",
        ),
    ):
        if most and value >= NEARLY * most:
            yield Finding(subject, Grade.NOTE, f"{value:,.0f} of at most {most:,.0f} {what}", advice)


def _times(since_start: Interval) -> Iterator[Finding]:
    slow_disk = "look at the commits and the event loop: the disk or the processor is too slow"
    for subject, name, stage, what, most_s, advice in (
        ("moves", "arbiter_move_seconds", "acknowledge", "of 100 moves wait up to", SLOW_MOVE_S, slow_disk),
        ("turns", "arbiter_move_seconds", "hand_over", "of 100 turns are handed over within", LATE_S, slow_disk),
        ("commits", "arbiter_commit_seconds", "", "of 100 commits take up to", SLOW_COMMIT_S, "use a faster disk"),
        ("loop", "arbiter_event_loop_late_seconds", "", "of 100 looks find the event loop late by up to", LATE_S, ""),
    ):
        slow = since_start.quantile(0.99, name, **({"stage": stage} if stage else {}))
        if slow is None:
            continue
        grade = Grade.NOTE if slow > most_s else Grade.GOOD
        hint = advice or "give the server a processor of its own, or fewer matches (limits.open_matches)"
        yield Finding(subject, grade, f"99 {what} {slow * 1_000:.0f} ms", hint if grade is Grade.NOTE else "")


def _show(found: Finding) -> None:
    if not on_terminal():
        write_line(found.grade.value, found.subject, found.text, found.advice)
        return
    say(f"{found.grade.value:5}  {found.subject}: {found.text}", STYLES[found.grade])
    if found.advice:
        say(f"       {found.advice}")
