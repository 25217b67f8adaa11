"""The random bot with one fault: `python -m tests.conformance.faulty_bot FAULT`.

`FAULTS` lists the clauses that each fault has to fail. Most faults change messages: `up` those that the client sends,
`down` those that it receives. The other faults replace a function of the client.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

from arbiter_client import bots, channel, cli
from arbiter_client.bots.random import RandomBot

from tests.conformance.faulty_bot.catalogue import FAULTS
from tests.conformance.faulty_bot.fault import Call, replace


def main() -> None:
    """Play with the fault that the command line names."""
    fault = FAULTS[sys.argv.pop(1)]()
    fault.patch()
    play = vars(channel.Connection)["play"].func

    def faulty(connection: channel.Connection) -> SimpleNamespace:
        stub = play(connection)
        return SimpleNamespace(Play=lambda **given: Call(stub.Play(**given), fault))

    replace(channel.Connection, "play", property(faulty))
    cli.main(RandomBot, bots.__doc__)


if __name__ == "__main__":
    main()
