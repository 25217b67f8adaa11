"""Watches a match, or everything: prints a line for each event, also after lost connections.

python observer.py          everything from now on
python observer.py MATCH    one match, from its beginning
"""

import sys

import arbiter_client as arb
from arbiter_client import cli


def describe(event: arb.MatchEvent) -> str:
    """Return an event as a line of text."""
    what = event.what
    if isinstance(what, arb.MatchCreated):
        return f"{what.game}: {' against '.join(what.players)}, {what.time_control}"
    if isinstance(what, arb.MovePlayed):
        spent = f", {what.ledger.charged_ms} ms" if what.ledger else ""
        return f"{what.ply + 1}. {what.move} (seat {what.seat}{spent})"
    if isinstance(what, arb.Result):
        winner = f"seat {what.winner} wins" if what.winner else what.kind.name.lower()
        return f"{winner}: {what.reason}"
    return event.kind


def main() -> None:
    """Watch until the match ends, or until Ctrl-C."""
    parser = cli.connection_parser(__doc__)
    parser.add_argument("match", nargs="?", help="watch this match alone, from its beginning")
    arguments = parser.parse_args()
    with cli.connected(arguments) as client:
        events = client.observe(arguments.match) if arguments.match else client.observe_all()
        for event in events:
            print(f"{event.match_id} {event.revision}: {describe(event)}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except arb.ClientError as error:
        sys.exit(f"observer: {error}")
