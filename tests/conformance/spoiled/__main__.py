"""The random bot with one behaviour spoiled: `python -m tests.conformance.spoiled FAULT`.

`FAULTS` says what each has to fail. Most faults are on the wire: what the client says goes through `up`, what it is
told through `down`. The others put another function in the place of one of the client's own.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

from arbiter_client import bots, channel, cli
from arbiter_client.bots.random import RandomBot

from tests.conformance.spoiled.catalogue import FAULTS
from tests.conformance.spoiled.fault import Call


def main() -> None:
    """Play with the fault that the command line names."""
    fault = FAULTS[sys.argv.pop(1)]()
    fault.patch()
    play = channel.Connection.play.func

    def spoiled(connection):
        stub = play(connection)
        return SimpleNamespace(Play=lambda **given: Call(stub.Play(**given), fault))

    channel.Connection.play = property(spoiled)
    cli.main(RandomBot, bots.__doc__)


if __name__ == "__main__":
    main()
