"""Games and rules on this machine: `arbiter games`, `arbiter rules`, `arbiter show`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich import box
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Table

from arbiter.cli.argument_types import Flag, GameName
from arbiter.cli.failure import Failure
from arbiter.cli.given_files import written_as_svg
from arbiter.cli.server_options import ConfigOption, KeysOption, StoreOption
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import (
    console,
    for_people,
    on_terminal,
    remark,
    say,
    table,
    write_drawing,
    write_line,
    write_text,
)
from arbiter.config import Limits, load
from arbiter.drawing.svg import svg
from arbiter.drawing.text_drawing import draw
from arbiter.games import registry
from arbiter.games.console import run as run_console
from arbiter.games.contract import AnyGame, Basis, value_text
from arbiter.games.line import follow
from arbiter.games.rule_sheet import sheet
from arbiter.workers.plugin_games import loaded_apart


def games(game: str | None = None, /, *, output: AnyTableOptions | None = None) -> None:
    """List the games, or show everything about one of them: parameters, ends, rulings.

    :param game: A game, such as `pods`, or a variant, such as `"pods(size=5)"`.
    """
    if game is not None:
        if output is not None and output.form() is not None:
            raise Failure(f"one game is described in words, not as a table: leave out {game}")
        _describe(registry.game(game))
        return
    rows = []
    kinds, faults = asyncio.run(loaded_apart(Limits()))
    for name, kind in kinds.items():
        facts = kind.facts
        parameters = ", ".join(f"{item.name}={value_text(item.default)}" for item in facts.parameters)
        rows.append((name, facts.name, facts.designer or facts.byline, parameters))
    table(("game", "name", "designer", "parameters"), rows, "There are no games.", output)
    for why in faults.values():
        remark(why, output, "red")
    if for_people(output):
        say(
            "`arbiter rules show GAME` has the rules, `arbiter play GAME` plays it.",
            "dim",
        )


def _describe(game: AnyGame) -> None:
    facts = game.facts
    out = console()
    out.print(f"{facts.name}, {facts.byline}", style="bold")
    out.print(facts.summary)
    out.print(f"Variant {game.variant}; {game.board.title}; at most {game.bound} plies.")
    seats = " and ".join(facts.seat_name(seat) for seat in (1, 2))
    out.print(f"Players: {seats}. " + ("Draws may be offered." if facts.draw_offers else "No draw offers."))
    if facts.letters:
        out.print("Pieces: " + ", ".join(f"{letter} {name}" for letter, name in facts.letters.items()) + ".")
    if facts.material:
        out.print(f"Material, for adjudication: {facts.material}.")
    _section(
        "Parameters",
        [
            (f"{item.name}={value_text(game.values[item.name])}", f"{item.text} ({item.allowed})")
            for item in facts.parameters
        ],
    )
    _section("How a game ends", [(reason.name, reason.text + _mark(reason.basis)) for reason in facts.reasons])
    _section("Rulings", [(ruling.topic, ruling.text + _mark(ruling.basis)) for ruling in facts.rulings])
    bases = {reason.basis for reason in facts.reasons} | {ruling.basis for ruling in facts.rulings}
    if Basis.OURS in bases:
        out.print("\n[ours]: the published rules leave this open, and this is how the arbiter plays.", style="dim")


def _mark(basis: Basis) -> str:
    return "  [ours]" if basis is Basis.OURS else ""


def _section(title: str, rows: Sequence[tuple[str, str]]) -> None:
    if not rows:
        return
    out = console()
    out.print(f"\n{title}", style="bold")
    if not on_terminal():
        for name, text in rows:
            write_line(f"  {name}: {text}")
        return
    drawn = Table(box=box.SIMPLE, show_header=False, pad_edge=True, padding=(0, 1))
    drawn.add_column(style="cyan", overflow="fold", max_width=30)
    drawn.add_column(overflow="fold")
    for name, text in rows:
        drawn.add_row(escape(name), escape(text))
    out.print(drawn, soft_wrap=False)


RULES: Final = """Let a program ask the rules of a game. For people there is `arbiter rules show GAME`.

`arbiter rules GAME` reads one command per line from standard input and writes one line of answer for each: `new`,
`set TEXT`, `play MOVE…`, `moves`, `outcome`, `claim`, `turn`, `board`, `perft N`. If the rules refuse a command, the
answer is `error: REASON …` and nothing changes.
"""

rules = App(name="rules", help=RULES)


@rules.command(name="show")
def show_rules(game: GameName, /) -> None:
    """Show the rules of a game: board, turns and ends, how moves and positions are written, and examples."""
    print_rules(registry.game(game))


def print_rules(game: AnyGame) -> None:
    """Print the rules of a game: set out on a terminal, as Markdown elsewhere."""
    text = sheet(game)
    if on_terminal():
        console().print(Markdown(text), soft_wrap=False)
    else:
        write_text(text)


@rules.command(name="check")
def check_rules(
    folder: Path | None = None,
    /,
    *,
    store: StoreOption = None,
    keys: KeysOption = None,
    config: ConfigOption = None,
    output: AnyTableOptions | None = None,
) -> None:
    """Play all matches of a store again by the rules that are installed here, before a new version of them is used.

    The server may be running, and unfinished matches are played as far as they are. With a folder, the matches are
    those that `arbiter export FOLDER` has written. The command compares moves, positions and ends by the rules with the
    record, and prints which code of the rules the matches were played by. It names each match that would go
    differently, and then its exit code is 1. `arbiter verify` checks clocks and signatures.

    :param folder: A folder of transcripts, with the folders in it, in place of a store.
    """
    from arbiter.cli import rules_check  # codecs of records, which no other command here needs

    if folder is None:
        settings = load(config, store=store, keys=keys)
        rules_check.check_store(settings.store, settings.key_ring, output)
    elif store or keys or config:
        raise Failure(f"{folder} stands in place of a store: leave the folder out, or --store, --keys and --config")
    else:
        rules_check.check_folder(folder, output)


@rules.command(name="serve")
def serve_rules() -> None:
    """Serve the program that starts this command, for matches of its own two bots, until its end of the pipe closes.

    It is an arbiter of its own on a free port of this machine, and keeps nothing. Its one line on standard output has
    the form of a credentials file: its address, and there the tokens of `admin`, the organiser, and of the players
    `seat-1` and `seat-2`. It ends when standard input does. The clients' function `local_match` uses it;
    clients/LOCAL.md is for authors of others.
    """
    from arbiter.cli.rules_serve import serve_until_end_of_input  # a server's imports: no other command here needs them

    asyncio.run(serve_until_end_of_input())


@rules.default
def ask_rules(game: GameName, /) -> None:
    """Query the rules of a game: read one command per line from standard input, write one line of answer for each.

    Commands: `new`, `set TEXT`, `play MOVE…`, `moves`, `outcome`, `claim`, `turn` and `board` (both as JSON),
    `perft N`. If the rules refuse a command, the answer is `error: REASON …` and nothing changes.
    """

    def write(answer: str) -> None:
        sys.stdout.write(answer)
        sys.stdout.flush()

    chosen = registry.game(game)
    if sys.stdin.isatty():
        say(f"Type new, moves, play MOVE… or another command. For people: `arbiter rules show {game}`.", "dim")
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):  # bytes that are not valid text must get an answer too
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    run_console(chosen, sys.stdin, write)


def show(
    game: GameName,
    position: str | None = None,
    /,
    *,
    moves: Annotated[list[str] | None, Parameter(name=["--moves", "-m"], consume_multiple=True)] = None,
    svg_: Annotated[bool, Parameter(name="--svg", negative=())] = False,
    letters: Flag = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Draw a position: as text on standard output, or as SVG.

    :param position: The position's text, as `arbiter rules` writes it. [default: the initial position]
    :param moves: Moves to play from there; the last one is marked in the drawing.
    :param svg_: Write SVG.
    :param letters: In SVG, draw letters on discs instead of the shapes of pieces. Text always has letters.
    :param output: Write to this file; a name that ends in .svg means SVG. Other pictures can be made from that.
    """
    as_svg = svg_ if output is None else written_as_svg(output, svg_)
    chosen = registry.game(game)
    start = chosen.initial() if position is None else chosen.parse(position)
    played = list(moves or ())
    line = follow(chosen, start, played)
    steps = chosen.steps(line.positions[-2], played[-1]) if played else None
    if as_svg:
        drawing = svg(chosen, line.final, steps, line.positions[-2] if played else None, letters=letters) + "\n"
    else:
        drawing = draw(chosen, line.final, steps, colour=output is None and on_terminal())
    if output is None:
        (write_text if as_svg else write_drawing)(drawing)
        return
    try:
        output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise Failure(f"can't write {output}: {error.strerror or error}") from None
