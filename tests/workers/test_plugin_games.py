"""The rules of plug-in games in processes of their own: what they may do there harms nobody else."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, RulesAwaited, RulesFailed
from arbiter.games import registry, rule_sheet
from arbiter.games.contract import AnyGame, Game
from arbiter.games.line import along
from arbiter.games.remote import OPTIONAL, RemoteGame, foresee
from arbiter.games.rule_sheet import examples
from arbiter.workers import plugin_games, plugin_worker
from arbiter.workers.plugin_games import WORKER, plugins_apart
from arbiter.workers.worker import Worker
from tests.matches.heap import Heap
from tests.plugins.installed import installed
from tests.plugins.mischief import FAULTS, STONES
from tests.processes import children
from tests.refusals import refusing

pytestmark = pytest.mark.long

P = ParamSpec("P")
T = TypeVar("T")
PATIENT = Limits(rules_ms=120_000, plugin_start_ms=120_000)


async def answer(ask: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what rules answer, as often as it takes. Nothing here lasts longer than a test may."""
    while True:
        try:
            return ask(*arguments, **named)
        except RulesAwaited as awaited:
            answered, loop = asyncio.Event(), asyncio.get_running_loop()
            awaited.then(partial(loop.call_soon_threadsafe, answered.set))
            await answered.wait()


def processes() -> list[int]:
    """Return the processes of packages of games."""
    return sorted(child for child, line in children(os.getpid()).items() if WORKER in line)


async def until(there: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    while not there():  # noqa: ASYNC110 - there is no event
        await asyncio.sleep(0.02)


@asynccontextmanager
async def apart(folder: Path, *packages: tuple[str, ...], limits: Limits = PATIENT) -> AsyncIterator[None]:
    with installed(folder, *packages):
        async with plugins_apart(limits):
            yield


async def played(game: AnyGame, *moves: str) -> Any:
    position = game.initial()
    for move in moves:
        position = await answer(game.play, position, move)
    return position


async def opened(variant: str) -> AnyGame:
    return await answer(registry.game, variant)


async def test_a_game_is_the_same_from_another_process(tmp_path: Path) -> None:
    async with apart(tmp_path, ("heap",)):
        game, here = await opened("heap(handicap=2)"), Heap(handicap=2)
        assert isinstance(game, RemoteGame)
        assert (game.variant, game.values, game.bound) == ("heap(handicap=2)", here.values, here.bound)
        assert (game.board, game.facts.reasons) == (here.board, here.facts.reasons)
        for there, parameter in zip(game.facts.parameters, here.facts.parameters, strict=True):
            assert there._replace(read=parameter.read) == parameter
        position, expected = game.initial(), here.initial()
        while True:
            assert game.text(position) == here.text(expected)
            assert (position.turn, position.outcome) == (expected.turn, expected.outcome)
            assert game.claim(position) == here.claim(expected)
            assert game.material(position) == here.material(expected)
            assert await answer(game.pieces, position) == tuple(here.pieces(expected))
            assert game.number(position, 4) == here.number(expected, 4)
            if position.outcome:
                break
            moves = await answer(game.moves, position)
            assert list(moves) == list(here.moves(expected))
            assert await answer(game.steps, position, moves[0]) == tuple(here.steps(expected, moves[0]))
            position = await answer(game.play, position, moves[-1])
            expected = here.play(expected, moves[-1])
        again = await answer(game.parse, "7 2 0")
        assert game.text(again) == "7 2 0"
        code = registry.code("heap")
        assert (code.package, code.version, len(code.sha256)) == ("plugin-0", "1.0", 64)


async def test_refusals_are_those_of_the_rules(tmp_path: Path) -> None:
    async with apart(tmp_path, ("heap",)):
        game, here = await opened("heap"), Heap()
        for wrong in ("4", "x" * 10_000, "\ud800"):
            with pytest.raises(Refusal) as there:
                await played(game, wrong)
            with pytest.raises(Refusal) as expected:
                here.play(here.initial(), wrong)
            assert (there.value.reason, there.value.message) == (expected.value.reason, expected.value.message)
            assert there.value.facts == expected.value.facts
        for name, reason in (("heap(stones=0)", Reason.PARAMETER_INVALID), ("heap(size=1)", Reason.PARAMETER_INVALID)):
            with refusing(reason):
                await opened(name)
        with refusing(Reason.POSITION_MALFORMED):
            await answer(game.parse, "nine")


async def test_each_fault_has_its_name_and_the_next_call_is_answered(tmp_path: Path) -> None:
    limits = Limits(rules_ms=6_000, rules_memory_bytes=268_435_456, plugin_start_ms=120_000)
    async with apart(tmp_path, ("mischief",), limits=limits):
        game = await opened("mischief")
        begun = await played(game, "1")
        for move, (_, why) in FAULTS.items():
            with pytest.raises(RulesFailed) as failed:
                await answer(game.play, begun, move)
            assert why.encode("unicode_escape").decode() in str(failed.value) or why in str(failed.value), move
            assert str(failed.value).isprintable()
            assert len(str(failed.value)) < 500
            with pytest.raises(RulesFailed):  # it is not tried again
                game.play(begun, move)
            after = await answer(game.play, begun, "2")
            assert game.text(after) == f"{STONES - 3} 1", move
        printed = await answer(game.play, begun, "print")
        assert game.text(printed) == f"{STONES} 1"


async def test_a_hanging_call_stops_the_event_loop_only_once(tmp_path: Path) -> None:
    async with apart(tmp_path, ("mischief",), ("heap",), limits=Limits(rules_ms=3_000, plugin_start_ms=120_000)):
        game, other = await opened("mischief"), await opened("heap")
        position, ended = game.initial(), list[str]()
        with pytest.raises(RulesAwaited) as hanging:
            game.play(position, "loop")
        hanging.value.then(lambda: ended.append("loop"))
        waited = 0
        while waited < 300 and not ended:  # thirty that wait for a tenth of a second each take too long
            with pytest.raises(RulesAwaited):
                game.play(position, "1")
            waited += 1
        assert waited == 300
        elsewhere = asyncio.create_task(asyncio.to_thread(game.play, position, "3"))  # another thread waits
        assert (await played(other, "1", "2")).text == "18 1 0"  # a game of another package
        assert not ended
        assert (await played(game, "1")).text == f"{STONES - 1} 2"
        assert ended
        assert game.text(await elsewhere) == f"{STONES - 3} 2"


async def test_a_process_that_ends_between_two_calls_costs_no_call(tmp_path: Path) -> None:
    async with apart(tmp_path, ("heap",)):
        game = await opened("heap")
        position = await played(game, *["1"] * 18)
        for stones in (3, 2):
            before = processes()
            os.kill(before[0], signal.SIGKILL)
            await until(lambda before=before: processes() != before)  # type: ignore[misc]
            assert list(await answer(game.moves, position)) == ["1", "2", "3"][:stones]
            position = await answer(game.play, position, "1")
            assert position.text.startswith(f"{stones - 1} ")


async def test_games_that_can_not_be_loaded_are_missing_with_the_reason_and_the_others_are_there(
    tmp_path: Path,
) -> None:
    faulty = ("hanging", "dying", "raising", "wrong", "misnamed")
    async with apart(tmp_path, (*faulty, "heap"), limits=Limits(plugin_start_ms=10_000)):
        faults = registry.faults()
        assert list(registry.classes()) == [*registry.BUNDLED, "heap"]
        assert sorted(faults) == sorted(faulty)
        for name, why in {
            "hanging": "no answer within 10000 ms",
            "dying": "their process ended during the call",
            "raising": "RuntimeError: this package is broken",
            "wrong": "leads to 9, which is no subclass of Game",
            "misnamed": "its class has the facts of 'mischief'",
        }.items():
            assert why in faults[name]
            with refusing(Reason.GAME_UNKNOWN) as refused:
                registry.game(name)
            assert why in refused.value.message
        game = await opened("heap")
        assert (await played(game, "1")).text == "20 2 0"


async def test_nothing_is_started_without_plug_ins_and_nothing_stays(tmp_path: Path) -> None:
    async with apart(tmp_path):
        assert processes() == []
    (tmp_path / "more").mkdir()
    async with apart(tmp_path / "more", ("heap",)):
        async with plugins_apart(PATIENT):  # a second server in this process
            assert len(processes()) == 1
        assert isinstance(await opened("heap"), RemoteGame)
    assert processes() == []


def test_what_a_game_may_leave_as_it_is_can_be_asked_for_in_its_process() -> None:
    own = {
        name
        for name, method in vars(Game).items()
        if callable(method) and not name.startswith("_") and not getattr(method, "__isabstractmethod__", False)
    }
    assert own - {*OPTIONAL} == {"illegal_move", "malformed_move", "malformed_position"}


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return what is sent to processes of packages, which have all the time for several calls at once."""
    sent, send = list[bytes](), plugin_games._exchange

    async def noted(worker: Worker, job: bytes) -> tuple[str, Any]:
        sent.append(job)
        return await send(worker, job)

    monkeypatch.setattr(plugin_games, "_exchange", noted)
    monkeypatch.setattr(plugin_games, "SEVERAL_S", 600.0)
    return sent


def texts(game: AnyGame, start: Any, moves: Sequence[str]) -> tuple[list[str], str]:
    """Return the positions of a line, as far as it is legal, and the refusal that ends it."""
    found = list[str]()
    try:
        for position in along(game, start, moves):
            found.append(game.text(position))
    except Refusal as refusal:
        return found, refusal.message
    return found, ""


async def test_a_line_is_one_request_and_ends_at_its_first_bad_move(tmp_path: Path, requests: list[bytes]) -> None:
    async with apart(tmp_path, ("heap",)):
        game, here = await opened("heap(stones=100)"), Heap(stones=100)
        for moves in (["1", "2"] * 30, [*["1"] * 30, "4", *["1"] * 30], [*["3"] * 33, "2", "1"]):
            requests.clear()
            found = await asyncio.to_thread(texts, game, game.initial(), moves)
            assert found == texts(here, here.initial(), moves)
            assert await answer(game.moves, game.initial()) == ("1", "2", "3")  # what was left of the line is done
            assert len(requests) <= 2


async def test_a_line_goes_on_from_a_position_that_a_process_has_lost(tmp_path: Path) -> None:
    async with apart(tmp_path, ("heap",)):
        game = await opened("heap")
        position = await played(game, "1", "2")
        before = processes()
        os.kill(before[0], signal.SIGKILL)
        await until(lambda: processes() != before)
        found, _ = await asyncio.to_thread(texts, game, position, ["3", "3", "1"])
        assert found == ["15 2 0", "12 1 0", "11 2 0"]


async def test_the_page_of_rules_asks_a_few_times(tmp_path: Path, requests: list[bytes]) -> None:
    async with apart(tmp_path, ("heap",)):
        game, here = await opened("heap"), Heap()
        requests.clear()
        found = await asyncio.to_thread(examples, game)
        assert [each[:2] for each in found] == [each[:2] for each in examples(here)]
        assert [game.text(each.after) for each in found] == [here.text(each.after) for each in examples(here)]
        plies = len(list(rule_sheet._game(here)))
        assert len(requests) <= 3 * plies + 1  # the moves, what they do, what stands there then; the end


async def test_a_fault_among_several_calls_is_that_of_its_own_call(tmp_path: Path) -> None:
    async with apart(tmp_path, ("mischief",)):
        game = await opened("mischief")
        begun = await played(game, "1")
        moves = ("2", "raise", "abort", "3", "number")
        foresee(game, (("play", begun, move) for move in moves))
        for move in moves:
            if move in FAULTS:
                with pytest.raises(RulesFailed) as failed:
                    await answer(game.play, begun, move)
                assert FAULTS[move][1].split(":")[0] in str(failed.value)
            else:
                assert (await answer(game.play, begun, move)).text == f"{STONES - 1 - int(move)} 1"


def test_several_calls_end_when_their_time_is_over_or_a_position_is_not_there(tmp_path: Path) -> None:
    def calls(*positions: int) -> list[tuple[str, str, int, tuple[str, ...], int]]:
        return [("heap", "play", position, ("1",), made) for made, position in enumerate(positions, 2)]

    with installed(tmp_path, ("heap",)):
        plugin_worker.ask("heap", "open", 0, (), 1)
        assert len(plugin_worker.ask_several(calls(1, 2, 3, 4), 600.0)) == 4
        assert len(plugin_worker.ask_several(calls(1, 2, 3, 4), -1.0)) == 1
        assert len(plugin_worker.ask_several(calls(1, 2, 1_000_000, 2), 600.0)) == 2
        assert plugin_worker.ask_several(calls(1_000_000, 1), 600.0) == []


async def test_a_loop_waits_for_an_answer_for_as_long_as_the_limit_says(tmp_path: Path) -> None:
    for number, (wait_ms, error) in enumerate(((10_000, RulesFailed), (1, RulesAwaited))):
        (tmp_path / str(number)).mkdir()
        limits = Limits(rules_ms=1_000, rules_wait_ms=wait_ms, plugin_start_ms=120_000)
        async with apart(tmp_path / str(number), ("mischief",), limits=limits):
            game = await opened("mischief")
            begun = await played(game, "1")
            with pytest.raises(error):
                game.play(begun, "loop")
