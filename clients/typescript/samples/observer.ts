// Watches a match, or everything: prints a line for each event, also after lost connections.
//
// node dist/samples/observer.js           everything from now on
// node dist/samples/observer.js MATCH     one match, from its beginning
import { Client, type MatchEvent, program, ResultKind } from "game-arbiter-client";

function describe({ event, kind }: MatchEvent): string {
  switch (event.case) {
    case "created": {
      const { game, players, timeControl } = event.value;
      return `${game}: ${players.join(" against ")}, ${timeControl}`;
    }
    case "moved": {
      const { ply, move, seat, ledger } = event.value;
      return `${ply + 1}. ${move} (seat ${seat}${ledger ? `, ${ledger.chargedMs} ms` : ""})`;
    }
    case "ended": {
      const { winner, reason, kind: end } = event.value;
      return `${winner ? `seat ${winner} wins` : ResultKind[end].toLowerCase()}: ${reason}`;
    }
    default:
      return kind;
  }
}

await program(async ({ options, words: [matchId] }) => {
  const client = new Client(options);
  await client.enrol(options.name ?? "observer");
  for await (const event of matchId ? client.observe(matchId) : client.observeAll()) {
    console.log(`${event.matchId} ${event.revision}: ${describe(event)}`);
  }
  client.close();
});
