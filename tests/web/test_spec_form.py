"""The form for a new tournament: every format's options, the server's defaults, and the field of each mistake."""

from __future__ import annotations

import pytest

from arbiter.errors import Refusal
from arbiter.options import options_of
from arbiter.tournaments.spec import PARTS, Format, Options, Spec, options_in
from arbiter.web.spec_form import FORMATS, place_of, sections, spec_of

#: what a person has to fill in
NEEDED = {Format.SWISS: {"options.rounds": "3"}, Format.ARENA: {"options.duration": "1h"}}


def sent(format_: Format, **more: str) -> dict[str, str]:
    """Return a form as a browser sends it with only the required fields filled in."""
    shown = {field.name: field.default for part in sections(format_) for field in part.fields}
    named = {name.replace("__", "."): text for name, text in more.items()}
    start = {"name": "Evening", "format": format_.value, "game:hop-it": "on"}
    return {name: text for name, text in (start | shown | NEEDED.get(format_, {}) | named).items() if text}


def refused(format_: Format, **more: str) -> tuple[str, str]:
    with pytest.raises(Refusal) as caught:
        spec_of(sent(format_, **more))
    return place_of(caught.value, format_), caught.value.message


@pytest.mark.parametrize("format_", Format)
def test_the_form_of_a_format_has_the_defaults_of_the_server(format_: Format) -> None:
    spec = spec_of(sent(format_))
    known = {Format.SWISS: Options(rounds=3), Format.ARENA: Options(duration_ms=3_600_000)}
    assert spec == Spec("Evening", format_, ("hop-it",), "1m+1s", options=known.get(format_, Options()))
    assert FORMATS[format_]


def test_a_field_without_a_default_is_empty_and_required() -> None:
    wanted = {
        format_: {field.name for part in sections(format_) for field in part.fields if field.required}
        for format_ in Format
    }
    assert wanted == {format_: set(NEEDED.get(format_, {})) for format_ in Format}
    assert all(not field.default for part in sections(Format.SWISS) for field in part.fields if field.required)


def test_every_option_is_in_the_form_of_a_format() -> None:
    shown = {field.name for format_ in Format for part in sections(format_) for field in part.fields}
    options = {f"{part}.{name}" for part, kind in PARTS.items() for name in options_of(kind)} | set(options_of(Spec))
    durations = {"options.duration_ms": "options.duration"}
    assert shown == {durations.get(name, name) for name in options - {"name", "format", "games"}} | {"policy"}


@pytest.mark.parametrize("format_", Format)
def test_a_field_says_the_bounds_and_the_meaning_of_the_specification(format_: Format) -> None:
    shown = {field.name: field for part in sections(format_) for field in part.fields}
    for place, option in ((f"options.{name}", options_of(Options)[name]) for name in options_in(format_)):
        field = shown.get(place) or shown[place.removesuffix("_ms")]
        assert option.option.meaning.replace("`", "") in field.note
        assert field.bounds == (option.range if field.kind == "number" else None)


def test_all_values_that_a_person_can_write_are_read() -> None:
    spec = spec_of(
        sent(
            Format.SWISS,
            more_games="pods(size=3)",
            rated="",
            at_once="2",
            entry__invited="alice, bob carol",
            entry__versions="v1\nv2 beta\n",
            entry__forbidden="alice bob\n\ncarol alice",
            entry__badge="on",
            groups__categories="in rust = alice bob\nnew: carol",
            groups__authors="Ada L. = alice carol",
            groups__apart="on",
            openings__lines="pods(size=3): b4 b3\nhop-it = b5-c5\nhop-it: b2-c2",
            adjudication__plies="120",
            schedule__start_ms="2030-12-24T18:00",
            tie_breaks="buchholz wins",
            time_odds="alice = 3m\nbob: 30s",
            policy="illegal_moves = 2\nstart = at_once",
        )
    )
    assert spec.games == ("hop-it", "pods(size=3)")
    assert (spec.rated, spec.paired, spec.at_once) == (False, True, 2)
    assert spec.entry.invited == ("alice", "bob", "carol")
    assert spec.entry.versions == ("v1", "v2 beta")
    assert spec.entry.forbidden == (("alice", "bob"), ("carol", "alice"))
    assert spec.entry.badge
    assert spec.groups.categories == {"in rust": ("alice", "bob"), "new": ("carol",)}
    assert (spec.groups.authors, spec.groups.apart, spec.groups.one_prize) == (
        {"Ada L.": ("alice", "carol")},
        True,
        False,
    )
    assert spec.openings.lines == {"pods(size=3)": (("b4", "b3"),), "hop-it": (("b5-c5",), ("b2-c2",))}
    assert spec.adjudication.plies == 120
    assert spec.schedule.start_ms == 1_924_365_600_000
    assert spec.tie_breaks == ("buchholz", "wins")
    assert spec.time_odds == {"alice": "3m", "bob": "30s"}
    assert spec.policy == {"illegal_moves": 2, "start": "at_once"}


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("name", " ", "1 to 100 printable characters"),
        ("more_games", "ludo", "there is no game 'ludo'"),
        ("more_games", "pods(size=99)", "size"),
        ("time", "soon", "expected 5m"),
        ("options__rounds", "", "the number of rounds"),
        ("options__rounds", "many", "a whole number from 0 to 100"),
        ("at_once", "0", "a whole number from 1"),
        ("entry__forbidden", "alice", "pairs of players"),
        ("openings__plies", "2", "random plies are drawn from"),
        ("openings__lines", "hop-it: q9", "legal moves"),
        ("openings__lines", "hop-it", "a name, = or :"),
        ("tie_breaks", "luck", "direct_encounter"),
        ("time_odds", "alice", "a name, = or :"),
        ("schedule__start_ms", "soon", "an instant in UTC"),
        ("schedule__start_ms", "0001-01-01T00:00", "a whole number from 0"),
    ],
)
def test_a_refusal_names_its_field(field: str, text: str, said: str) -> None:
    place, message = refused(Format.SWISS, **{field: text})
    assert said in message
    assert place == {"openings__plies": "openings.seed"}.get(field, field.replace("__", "."))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(Refusal, match="round_robin or gauntlet"):
        spec_of(sent(Format.SWISS) | {"format": "lottery"})
