"""Settings: their sources, and the error messages about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.config import load
from arbiter.errors import OperatorError


def test_the_command_line_overrides_the_environment_which_overrides_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "arbiter.toml"
    file.write_text('listen = "127.0.0.1:1"\nstore = "sqlite:///file.db"\nregistration = "closed"\n')
    monkeypatch.setenv("ARBITER_LISTEN", "127.0.0.1:2")
    monkeypatch.setenv("ARBITER_STORE", "sqlite:///environment.db")
    monkeypatch.setenv("ARBITER_LIMITS__PAGE_SIZE", "7")
    settings = load(file, listen="127.0.0.1:3", store=None)
    assert settings.listen == "127.0.0.1:3"
    assert settings.store == "sqlite:///environment.db"
    assert settings.registration == "closed"
    assert settings.limits.page_size == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 3", "colour"),
        ("[limits]\npage_size = 0", "limits.page_size"),
        ("[limits]\nsize = 1", "line 2, limits.size: there is no such setting; did you mean page_size"),
        ("\n[limit]\npage_size = 1", "line 2, limit: there is no such setting; did you mean limits?"),
        ("[limits]\npage_size = 'x'", "line 2, limits.page_size: Input should be a valid integer"),
        ('registration = "maybe"', "registration"),
        ("listen = ", "not TOML"),
        ("[limits]\nacts_a_second = 10000000000", "limits.acts_a_second: Input should be less than or equal to"),
        ("[limits]\nlargest_page_size = 501", "limits.largest_page_size: Input should be less than or equal to 500"),
        ("[limits]\npage_size = 201", "limits: page_size 201 is more than largest_page_size 200"),
        ("[limits]\nping_ms = 20000", "limits: ping_ms 20000 is not less than silence_ms 20000"),
    ],
)
def test_a_wrong_file_is_named_with_its_mistake(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "arbiter.toml"
    file.write_text(text)
    with pytest.raises(OperatorError, match=said):
        load(file)


def test_a_missing_file_and_a_wrong_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OperatorError, match="does not exist"):
        load(tmp_path / "none.toml")
    monkeypatch.setenv("ARBITER_LIMITS", "many")
    with pytest.raises(OperatorError, match="the environment is wrong"):
        load()


@pytest.mark.parametrize(
    ("store", "ring"),
    [
        ("sqlite:///arbiter.db", "arbiter.keys"),
        ("sqlite:////var/lib/arbiter/cup.db", "/var/lib/arbiter/cup.keys"),
        ("postgresql://arbiter:secret@db.example:5432/cup?sslmode=require", "cup.keys"),
        ("postgresql+psycopg://arbiter@/cup?host=/var/run/postgresql", "cup.keys"),
        ("postgresql://db.example", "arbiter.keys"),
        ("nonsense", "arbiter.keys"),
    ],
)
def test_the_default_path_of_the_keys_follows_from_the_store(store: str, ring: str) -> None:
    assert load(None, store=store).key_ring == Path(ring)
    assert load(None, store=store, keys=Path("elsewhere.keys")).key_ring == Path("elsewhere.keys")


def test_several_processes_have_a_postgresql_of_their_own_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = f"postgresql://arbiter@/arbiter?host={tmp_path}"
    assert load().store == "sqlite:///arbiter.db"
    assert not load().supervised
    several = load(processes=3, metrics="127.0.0.1:9464")
    assert several.store == f"{own}/arbiter.postgres"
    assert several.postgres == tmp_path / "arbiter.postgres"
    assert several.key_ring == tmp_path / "arbiter.keys"
    assert several.metrics_addresses == ("127.0.0.1:9464", "127.0.0.1:9465", "127.0.0.1:9466")
    assert load(processes=2, metrics="127.0.0.1:0").metrics_addresses == ("127.0.0.1:0",) * 2
    assert load(processes=2).metrics_addresses == ()
    named = load(processes=3, store="postgresql://me@there/cup")
    assert (named.store, named.postgres, named.supervised) == ("postgresql://me@there/cup", None, True)
    alone = load(postgres=Path("pg"), keys=Path("k"))
    assert (alone.store, alone.key_ring, alone.supervised) == (f"{own}/pg", Path("k"), True)

    file = tmp_path / "arbiter.toml"
    file.write_text('processes = 2\npostgres = "pg"')
    assert load(file).store == f"{own}/pg"
    assert load(file, store="postgresql:///cup").postgres is None  # an argument comes before the file
    file.write_text('processes = 2\nstore = "postgresql:///cup"')
    assert load(file, postgres=Path("pg")).store == f"{own}/pg"
    for wrong, said in (
        ({"postgres": Path("pg"), "store": "postgresql:///cup"}, "leave one of them out"),
        ({"processes": 2, "store": "sqlite:///cup.db"}, "2 processes can't share an SQLite file"),
        ({"processes": 0}, "processes: "),
    ):
        with pytest.raises(OperatorError, match=said):
            load(**wrong)
