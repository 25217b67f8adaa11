"""Options that stand for settings of the server: what they mean is said in `arbiter.config`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cyclopts import Parameter

from arbiter.config import Settings


def setting(name: str, /, **more: Any) -> dict[str, Any]:
    """Return the arguments of the `Parameter` for a setting, with its meaning and its default."""
    field = Settings.model_fields[name]
    several = isinstance(field.default, tuple)
    default = f" [default: {field.default}]" if field.default and not several else ""
    return {"help": f"{_meaning(name)}{' May be given several times.' if several else ''}{default}", **more}


def _meaning(name: str) -> str:
    said = Settings.model_fields[name].description or ""
    return f"{said[:1].upper()}{said[1:]}."


def _of_server(name: str) -> Parameter:
    return Parameter(help=f"{_meaning(name)} [default: as the server's settings]")


StoreOption: TypeAlias = Annotated[str | None, _of_server("store")]
KeysOption: TypeAlias = Annotated[Path | None, _of_server("keys")]
ConfigOption: TypeAlias = Annotated[Path | None, Parameter(help="The server's configuration file (TOML).")]
