"""The contract of a journal, on every journal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import structlog
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from arbiter.bootstrap.store import Store, open_store
from arbiter.service.ports.journal import (
    Append,
    AppendBase,
    Filter,
    JournalConflict,
    MatchEnd,
    MatchSummary,
    OpenLimits,
    PlayerResult,
    Record,
    StoredRecord,
    StoreFailed,
    Subject,
    Tally,
    TooManyOpen,
    TournamentSummary,
)
from arbiter.store.database import opened
from arbiter.store.journal import SqlJournal
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer

END = MatchEnd("win", 1, "territory", "rules", "player", 2, "", 99, "pos", 7)
COUNTED = OpenLimits()  #: limits nothing, but only the writer's thread can look, so its connection commits


def row(match_id: str, request_id: str = "", **changes: object) -> MatchSummary:
    made = MatchSummary(match_id, "pods", "alice", "bob", "1m+1s", True, "cup", "org", request_id or match_id, 1)
    return replace(made, **changes)  # type: ignore[arg-type]


def opening(match_id: str, events: int = 1, request_id: str = "", **changes: object) -> Append:
    return Append(records(match_id, 1, events), opened=row(match_id, request_id, **changes))


def records(match_id: str, first: int, count: int = 1) -> tuple[Record, ...]:
    return tuple(Record(match_id, first + n, f"{match_id} {first + n}".encode(), Subject.MATCH) for n in range(count))


def bodies(found: list[StoredRecord]) -> list[str]:
    return [record.body.decode() for record in found]


async def test_a_closed_store_fails_by_name(url: str) -> None:
    """Whoever still reads while a server stops gets an answer that it knows."""
    async with open_store(url) as store:
        pass
    with pytest.raises(StoreFailed, match="closed"):
        await store.journal.read("a")
    with pytest.raises(StoreFailed, match="closed"):
        await store.directory.player("alice")


async def test_records_are_stored_in_the_order_of_the_calls_with_their_places(store: Store) -> None:
    journal = store.journal
    asked = [journal.append(opening("a", 2)), journal.append(opening("b"))]
    asked += [journal.append(Append(records(name, n))) for n in (3, 4) for name in "a"]
    asked.append(journal.append(Append(records("b", 2, 3))))
    places = await asyncio.gather(*asked)
    assert places == sorted(places)
    everything = await journal.read_all(0, 100)
    assert bodies(everything) == ["a 1", "a 2", "b 1", "a 3", "a 4", "b 2", "b 3", "b 4"]
    assert [
        record.sequence for record in everything if record.body in (b"a 2", b"b 1", b"a 3", b"a 4", b"b 4")
    ] == places
    assert bodies(await journal.read("b")) == ["b 1", "b 2", "b 3", "b 4"]
    assert bodies(await journal.read("b", 1, 2)) == ["b 2", "b 3"]
    assert bodies(await journal.read_all(places[1], 2)) == ["a 3", "a 4"]
    assert await journal.head() == places[-1]
    assert await journal.read("nobody") == []


async def test_callbacks_come_in_the_order_of_the_calls_each_with_its_own_result(store: Store) -> None:
    """One append that fails, and one callback that fails, keep nothing from the others of their commit."""
    loop, raised = asyncio.get_running_loop(), list[BaseException]()
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    outcomes, done = list[tuple[str, int, str]](), loop.create_future()

    def tell(name: str, last: int, error: BaseException | None) -> None:
        outcomes.append((name, last, type(error).__name__))
        if name == "raises":
            raise RuntimeError("in a callback")
        if name == "last":
            done.set_result(None)

    asked = [
        ("opens", opening("a", 2)),
        ("taken", Append(records("a", 2))),
        ("raises", opening("b")),
        ("gap", Append(records("b", 3))),
        ("last", Append(records("a", 3, 2))),
    ]
    for name, append in asked:
        store.journal.append_then(append, partial(tell, name))
    await done
    assert outcomes == [
        ("opens", 2, "NoneType"),
        ("taken", 0, "JournalConflict"),
        ("raises", 3, "NoneType"),
        ("gap", 0, "JournalConflict"),
        ("last", 5, "NoneType"),
    ]
    assert [str(error) for error in raised] == ["in a callback"]


async def test_a_revision_is_written_once(store: Store) -> None:
    journal = store.journal
    await journal.append(opening("a", 2))
    with pytest.raises(JournalConflict):
        await journal.append(Append(records("a", 2)))
    assert bodies(await journal.read("a")) == ["a 1", "a 2"]


async def test_a_conflict_in_the_middle_of_an_append_stores_none_of_it(store: Store) -> None:
    journal = store.journal
    await journal.append(opening("a", 2))
    with pytest.raises(JournalConflict):
        await journal.append(Append(records("a", 2, 2)))
    assert bodies(await journal.read_all(0, 10)) == ["a 1", "a 2"]


async def test_there_is_never_a_gap(store: Store) -> None:
    journal = store.journal
    await journal.append(opening("a"))
    asked = [
        journal.append(Append(records("a", 2))),
        journal.append(Append(records("a", 2))),  # another writer's record
        journal.append(Append(records("a", 3))),
        journal.append(Append(records("a", 5))),  # the revision before it was never stored
        journal.append(Append(records("a", 6))),
        journal.append(Append(records("never made", 2))),
    ]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(answer, JournalConflict) for answer in answers] == [False, True, False, True, True, True]
    assert bodies(await journal.read("a")) == ["a 1", "a 2", "a 3"]


@pytest.mark.parametrize("together", [True, False])
async def test_an_append_after_a_failed_append_is_not_stored(store: Store, together: bool) -> None:
    """Another writer's revision 2 is stored: our 3 was decided after our own 2, and would be a fork after theirs."""
    journal, basis = store.journal, AppendBase()
    await journal.append(opening("a"))
    await journal.append(Append(records("a", 2)))
    asked = []
    for revision in (2, 3):
        asked.append(journal.append(Append(records("a", revision), basis=basis)))
        if not together:
            await asyncio.wait(asked)
    answers = await asyncio.gather(*asked, journal.append(opening("b")), return_exceptions=True)
    assert [isinstance(answer, JournalConflict) for answer in answers] == [True, True, False]
    assert bodies(await journal.read("a")) == ["a 1", "a 2"]
    await journal.append(Append(records("a", 3), basis=AppendBase()))
    assert bodies(await journal.read("a")) == ["a 1", "a 2", "a 3"]


async def test_an_append_after_a_failed_commit_is_not_stored(url: str) -> None:
    """Nobody knows whether the commit took place; the stored revision may be another writer's."""
    with opened(url) as engine:
        writer, reader = Writer(engine, structlog.get_logger()), Reader(engine, structlog.get_logger())
        journal, basis = SqlJournal(engine, writer, reader), AppendBase()
        await journal.append(opening("a"))

        def fail(_connection: Connection) -> None:
            raise OperationalError("COMMIT", None, OSError("the disk is full"))

        event.listen(engine, "commit", fail)
        with pytest.raises(StoreFailed):
            await journal.append(Append(records("a", 2, 10), closed=END, basis=basis, open_limits=COUNTED))
        event.remove(engine, "commit", fail)
        await journal.append(Append(records("a", 2)))
        with pytest.raises(JournalConflict):
            await journal.append(Append(records("a", 3), basis=basis))
        assert bodies(await journal.read("a")) == ["a 1", "a 2"]
        await asyncio.to_thread(writer.close)
        reader.close()


async def test_places_go_on_after_a_refused_append(store: Store) -> None:
    journal = store.journal
    first = await journal.append(opening("a"))
    for _ in range(2):
        with pytest.raises(JournalConflict):
            await journal.append(Append(records("a", 3, 10)))
    assert await journal.append(Append(records("a", 2))) == first + 1
    assert [record.sequence for record in await journal.read_all(0, 10)] == [first, first + 1]


async def test_places_go_on_after_a_commit_that_failed(url: str) -> None:
    with opened(url) as engine:
        writer, reader = Writer(engine, structlog.get_logger()), Reader(engine, structlog.get_logger())
        journal = SqlJournal(engine, writer, reader)
        first = await journal.append(opening("a"))

        def fail(_connection: Connection) -> None:
            raise OperationalError("COMMIT", None, OSError("the disk is full"))

        event.listen(engine, "commit", fail)
        with pytest.raises(StoreFailed):
            await journal.append(Append(records("a", 2, 10), closed=END, open_limits=COUNTED))
        event.remove(engine, "commit", fail)
        assert await journal.append(Append(records("a", 2))) == first + 1
        await asyncio.to_thread(writer.close)
        reader.close()


@pytest.mark.parametrize("count", [1, 3, 513, 1_500])
async def test_any_number_of_records_is_stored_at_once(store: Store, count: int) -> None:
    journal = store.journal
    await journal.append(opening("a", count))
    others = [journal.append(opening(f"b{n:04}")) for n in range(count)]
    behind = [journal.append(Append(records(f"b{n:04}", 2))) for n in range(count)]
    places = await asyncio.gather(*others, *behind)
    assert places == list(range(places[0], places[0] + 2 * count))
    assert bodies(await journal.read("a")) == [f"a {n}" for n in range(1, count + 1)]
    assert bodies(await journal.read_all(places[count - 1], 2_000)) == [f"b{n:04} 2" for n in range(count)]
    with pytest.raises(JournalConflict):
        await journal.append(Append(records("a", count + 2, count)))


@pytest.mark.parametrize("count", [1, 511, 512, 1_500])
async def test_an_append_of_several_statements_is_stored_completely_or_not_at_all(url: str, count: int) -> None:
    async with open_store(url) as store:
        journal = store.journal
        first = await journal.append(opening("a"))
        for refused in (records("a", 1), records("a", count + 3)):  # one exists already; one has no predecessor
            with pytest.raises(JournalConflict):
                await journal.append(Append((*records("a", 2, count), *refused)))
            assert await journal.head() == first
        assert await journal.append(Append(records("a", 2, count))) == first + count
        assert bodies(await journal.read("a")) == [f"a {n}" for n in range(1, count + 2)]


async def test_a_request_makes_one_match(store: Store) -> None:
    journal = store.journal
    asked = [journal.append(opening("a", 1, "same")), journal.append(opening("b", 1, "same"))]
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(first, int)
    assert isinstance(second, JournalConflict)
    found = await journal.summary_of_request("org", "same")
    assert found is not None
    assert found.match_id == "a"
    assert await journal.summary_of_request("another", "same") is None
    assert await journal.read("b") == []
    assert await journal.summary("b") is None


async def test_open_matches_and_tournaments_are_counted_in_the_transaction(store: Store) -> None:
    journal, limits = store.journal, OpenLimits((("alice", 2), ("bob", 9)), tournaments=1)
    asked = [journal.append(opening(name)._replace(open_limits=limits)) for name in ("a", "b", "c", "b")]
    asked.append(
        journal.append(opening("d", player_1="carol", player_2="bob")._replace(open_limits=OpenLimits((("bob", 3),))))
    )
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in found] == [int, int, TooManyOpen, JournalConflict, int]
    full = found[2]
    assert isinstance(full, TooManyOpen)
    assert (full.player, full.most) == ("alice", 2)
    assert await journal.summary("c") is None
    assert await journal.read("c") == []
    await journal.append(Append(records("a", 2), closed=END))
    await journal.append(opening("e")._replace(open_limits=limits))
    cups = [
        Append(
            (Record(name, 1, b"body", Subject.TOURNAMENT),),
            tournament=TournamentSummary(name, "cup", "swiss", "entry", "org", name, 1),
            open_limits=OpenLimits(tournaments=1),
        )
        for name in ("t1", "t2")
    ]
    for cup, outcome in zip(cups, (int, TooManyOpen), strict=True):
        [told] = await asyncio.gather(journal.append(cup), return_exceptions=True)
        assert type(told) is outcome


async def test_lists_are_derived_with_the_events(store: Store) -> None:
    journal = store.journal
    opened = await journal.append(opening("a", 2))
    assert await journal.unfinished() == ["a"]
    made = await journal.summary("a")
    assert made == row("a", sequence=opened - 1)
    ended = await journal.append(Append(records("a", 3, 2), closed=END))
    assert await journal.summary("a") == row("a", sequence=opened - 1, ended_sequence=ended, end=END)
    assert await journal.unfinished() == []


async def test_the_records_of_many_matches_are_read_at_once(store: Store) -> None:
    journal = store.journal
    for match_id in ("b", "a", "c"):
        await journal.append(opening(match_id, 2, match_id))
    await journal.append(Append(records("a", 3, 2)))
    assert await journal.read_many(["b", "a", "missing"]) == [*await journal.read("a"), *await journal.read("b")]
    assert await journal.read_many([]) == []


async def test_the_subject_of_a_record_is_stored_and_not_guessed_from_its_id(store: Store) -> None:
    journal = store.journal
    await journal.append(opening("t9", 2))
    cup = TournamentSummary("m9", "cup", "swiss", "open", "org", "cup", 1)
    await journal.append(Append((Record("m9", 1, b"{}", Subject.TOURNAMENT),), tournament=cup))
    assert [record.subject for record in await journal.read("t9")] == [Subject.MATCH] * 2
    assert [record.subject for record in await journal.read("m9", subject=Subject.TOURNAMENT)] == [Subject.TOURNAMENT]
    assert await journal.read("t9", subject=Subject.TOURNAMENT) == []
    assert await journal.read("m9") == []
    found = [(record.match_id, record.subject) for record in await journal.read_all(0, 10)]
    assert found == [("t9", Subject.MATCH), ("t9", Subject.MATCH), ("m9", Subject.TOURNAMENT)]
    assert all(isinstance(record.subject, Subject) for record in await journal.read_all(0, 10))


async def test_a_match_that_ends_as_it_is_made(store: Store) -> None:
    await store.journal.append(opening("a")._replace(closed=END))
    found = await store.journal.summary("a")
    assert found is not None
    assert found.end == END


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (Filter(), "dcba"),
        (Filter(player="carol"), "db"),
        (Filter(player="alice"), "cba"),
        (Filter(game="hop-it"), "d"),
        (Filter(variants_of="hop-it"), "d"),
        (Filter(variants_of="pods"), "cba"),
        (Filter(variants_of="p_ds"), ""),
        (Filter(label="league"), "c"),
        (Filter(ended=True), "a"),
        (Filter(ended=False), "dcb"),
        (Filter(player="alice", ended=False), "cb"),
        (Filter(player="nobody"), ""),
    ],
)
async def test_lists_are_filtered(store: Store, which: Filter, expected: str) -> None:
    journal = store.journal
    await journal.append(opening("a")._replace(closed=END))
    await journal.append(opening("b", player_2="carol"))
    await journal.append(opening("c", label="league", game="pods(size=5)"))
    await journal.append(opening("d", game="hop-it", player_1="carol"))
    found = await journal.summaries(which, 0, 10)
    assert "".join(item.match_id for item in found) == expected
    paged = ""
    before = 0
    while page := await journal.summaries(which, before, 1):
        paged += page[0].match_id
        before = page[0].sequence
    assert paged == expected


async def test_results_come_in_the_order_of_the_ends(store: Store) -> None:
    journal = store.journal
    for name in "abc":
        await journal.append(opening(name))
    for name in "bca":
        await journal.append(Append(records(name, 2), closed=END))
    found = await journal.results("bob", 0, 10)
    assert "".join(item.match_id for item in found) == "bca"
    assert [item.match_id for item in await journal.results("alice", found[0].ended_sequence, 1)] == ["c"]
    assert await journal.results("bob", found[-1].ended_sequence, 10) == []
    assert await journal.results("carol", 0, 10) == []
    ends = [item.ended_sequence for item in found]
    assert [await journal.result_before_last("bob", last) for last in range(5)] == [*reversed(ends), 0, 0]
    assert await journal.result_before_last("carol", 0) == 0


async def test_ends_are_counted_with_the_events(store: Store) -> None:
    journal = store.journal
    lost = replace(END, winner=2, reason="time", cause="time")
    await journal.append(opening("a")._replace(closed=END))
    await journal.append(opening("b"))
    assert [tally.games for tally in await journal.tallies()] == [1]
    await journal.append(Append(records("b", 2, 2), closed=END))
    for name, end, changes in (
        ("c", lost, {}),
        ("d", END, {"label": ""}),
        ("e", END, {"player_1": "bob", "player_2": "alice"}),
        ("f", END, {"game": "hop-it"}),
        ("g", END, {"rated": False}),
    ):
        await journal.append(opening(name, **changes)._replace(closed=end))
    with pytest.raises(JournalConflict):
        await journal.append(Append(records("g", 1), closed=END))
    pods = Tally("cup", "pods", True, "alice", "bob", "win", 1, "rules", 2)
    assert await journal.tallies() == [
        pods._replace(label="", games=1),
        pods._replace(game="hop-it", games=1),
        pods._replace(rated=False, games=1),
        pods,
        pods._replace(winner=2, cause="time", games=1),
        pods._replace(player_1="bob", player_2="alice", games=1),
    ]
    assert await journal.tallies(label="cup", game="hop-it") == [pods._replace(game="hop-it", games=1)]
    assert await journal.tallies(label="league") == []
    assert await journal.tallies(rated=False) == [pods._replace(rated=False, games=1)]
    assert await journal.tallies(game="hop-it", rated=True) == [pods._replace(game="hop-it", games=1)]


async def test_ends_are_counted_by_the_versions_of_the_bots(store: Store) -> None:
    journal = store.journal
    versions = (("", ""), ("1.9", "2"), ("1.10", "2"), ("1.9", "2"))
    for name, (one, two) in zip("abcd", versions, strict=True):
        await journal.append(opening(name)._replace(closed=replace(END, version_1=one, version_2=two)))
    pods = Tally("cup", "pods", True, "alice", "bob", "win", 1, "rules", 1)
    assert await journal.tallies() == [
        pods,
        pods._replace(version_1="1.10", version_2="2"),
        pods._replace(version_1="1.9", version_2="2", games=2),
    ]
    rows = await journal.summaries(Filter(), 0, 10)
    assert [(each.end.version_1, each.end.version_2) for each in rows if each.end] == list(reversed(versions))


async def test_rated_ends_are_counted_by_periods_too(store: Store) -> None:
    journal = store.journal
    ends: dict[str, tuple[int, dict[str, Any]]] = {
        "a": (999, {}),
        "b": (1_000, {}),
        "c": (1_999, {}),
        "d": (5_000, {"game": "hop-it"}),
    }
    ends |= {"e": (1_500, {"rated": False}), "g": (1_500, {"label": ""})}
    for name, (ended_ms, changes) in ends.items():
        closed = replace(END, ended_ms=ended_ms, version_1="7" if name == "g" else "")
        await journal.append(opening(name, **changes)._replace(closed=closed))
    void = replace(END, ended_ms=1_500, result="void", winner=0, cause="arbiter")
    await journal.append(opening("f")._replace(closed=void))
    pods = Tally("", "pods", True, "alice", "bob", "win", 1, "rules", 1)
    found = [(0, pods), (1, pods._replace(games=2)), (1, pods._replace(version_1="7"))]
    assert await journal.dated_tallies("pods", 1_000) == found
    assert await journal.dated_tallies("", 1_000) == [*found, (5, pods._replace(game="hop-it"))]
    before = [(1, pods._replace(games=3)), (1, pods._replace(version_1="7"))]
    assert await journal.dated_tallies("pods", 1_000, 2) == before
    assert await journal.dated_tallies("", 1_000, 2) == [*before, (5, pods._replace(game="hop-it"))]
    assert await journal.dated_tallies("", 1_000, 1) == await journal.dated_tallies("", 1_000)
    assert await journal.rated_games(("pods",)) == await journal.rated_games(("pods", "elevation")) == (4, 0)
    assert [await journal.rated_games(games) for games in ((), ("elevation",))] == [(5, 0), (0, 0)]
    assert await journal.first_rated("bob", "") == 999
    assert await journal.first_rated("bob", "hop-it") == 5_000
    assert (await journal.first_rated("carol", ""), await journal.first_rated("bob", "elevation")) == (0, 0)


async def test_the_results_of_a_player_are_counted_by_kind(store: Store) -> None:
    journal = store.journal
    drawn = replace(END, result="draw", winner=0, reason="length")
    void = replace(END, result="void", winner=0, reason="aborted")
    for name, changes, end in (
        ("a", {}, END),
        ("b", {}, END),
        ("c", {"player_1": "carol", "player_2": "alice", "rated": False}, replace(END, version_2="7")),
        ("d", {"player_2": "alice"}, END),
        ("e", {"game": "hop-it"}, drawn),
        ("f", {}, void),
    ):
        await journal.append(opening(name, **changes)._replace(closed=end))
    await journal.append(opening("g"))
    pods = PlayerResult("pods", "bob", 1, "", "win", True, "territory", 2)
    assert set(await journal.results_by_kind("alice")) == {
        pods,
        pods._replace(opponent="carol", seat=2, version="7", won=False, games=1),
        pods._replace(opponent="alice", games=1),
        pods._replace(opponent="alice", seat=2, won=False, games=1),
        pods._replace(game="hop-it", result="draw", won=None, reason="length", games=1),
        pods._replace(result="void", won=None, reason="aborted", games=1),
    }
    assert await journal.results_by_kind("dave") == []


async def test_the_encounters_of_two_players_have_their_first_records(store: Store) -> None:
    journal = store.journal
    for name, changes in (
        ("a", {}),
        ("b", {"player_1": "bob", "player_2": "alice"}),
        ("c", {"player_2": "carol"}),
        ("d", {"rated": False}),
        ("e", {"game": "hop-it"}),
    ):
        await journal.append(opening(name, **changes)._replace(closed=END))
    await journal.append(opening("f"))
    found = await journal.encounters("bob", "alice", "")
    assert [match.match_id for match, _ in found] == ["a", "b", "e"]
    assert [body for _, body in found] == [(await journal.read(name))[0].body for name in "abe"]
    assert [match.match_id for match, _ in await journal.encounters("alice", "bob", "pods")] == ["a", "b"]
    assert await journal.encounters("alice", "dave", "") == []


async def test_the_longest_texts_that_are_accepted_are_stored(store: Store) -> None:
    """A database that checks lengths stores the longest texts of the service; characters count, not bytes."""
    names = {"player_1": "ä" * 40, "player_2": "b" * 40, "creator": "c" * 40, "label": "ß" * 100}
    words = {**names, "game": "g" * 200, "time_control": "t" * 40}
    await store.journal.append(opening("m" * 40, 1, "ü" * 100, **words))
    end = replace(END, reason="r" * 40, note="\N{CHEQUERED FLAG}" * 600, position="p" * 10_000)
    await store.journal.append(Append(records("m" * 40, 2), closed=end))
    found = await store.journal.summary("m" * 40)
    assert found is not None
    assert found.end == end
    assert found.label == names["label"]
