"""The public test kit: this page lists all of it. Import from the modules: most of them need no server's code.

Virtual time
- `clock`: `virtually` decorates a test that runs in virtual time, `run` runs a coroutine so, and `settle` lets all
  happen that can; `VirtualLoop`, `VirtualClock`; `Stuck` is raised if a run can never finish
- `virtual_processes`: each `Process` in a `ProcessLoop` can be killed at any step; `run_processes`, `end_all`

Games
- `laws`: `check` plays a game at random and applies every law, of which each is a function too:
  `names_and_parameters_read_back`, `texts_round_trip`, `listed_moves_play`, `unlisted_moves_are_refused`,
  `positions_are_values`, `games_end`, `pieces_and_steps_are_well_formed`, `hostile_texts_are_refused`,
  `material_follows_from_the_text`, `aliases_are_resolved`, `moves_have_one_text`; `walk` plays at random, `mutated`
  changes a text at random, and `near` finds texts near a move

Servers
- `in_memory`: `InMemoryArbiter` is a server without a network, `StreamReader` reads a player's stream of it, `items_of`
  waits for the items of a session, and takes them
- `served`: `served` serves over gRPC in this process, and yields a `Served`; `memory_world` keeps its record in memory;
  `patient` gives limits for a busy machine: a server that is late interrupts no match
- `memory`: the ports of a server in memory: `MemoryJournal`, `MemoryDirectory`, `MemoryReplicas`, `MemorySnapshots`,
  `MemoryBus` and its `MemoryBroker`, `CountingIds`, `NoKeys`, `OneKey`, `PlainRules`; `CallsBack` and `lose_basis` are
  for journals of your own
- `faults`: `FaultyJournal` is a journal that fails, or delays its commits, when a test says so
- `network`: `Network` is a proxy before a server; each `Direction` of a connection can be delayed, cut and reset

Promises
- `guarantees`: the promises of streams: `ordered`, `unique`, `gap_free` (`kept` checks these three), `resumable`,
  `bookmarked`; they take `Received` events and `Bookmarked` places, and raise `Broken`
- `stuck_matches`: `sweep` finds each `StuckMatch` of a server; `standing` returns the `NextStep` of one match, and
  `latest` by when its policy makes something happen

Players
- `player`: `BotClient` is a bot whose messages a test chooses; `move_at` makes a move's message; `end_of` returns how a
  stream ended, a `StreamStatus`; `reason_of` returns the reason of a refusal
- `bot_faults`: `BotFault` lists how bots misbehave, `FaultPolicy` says what follows; `table` shows both
- `misbehaving`: a player for each of these faults, in `PLAYERS`, such as `GiantMessage` and `MovesElsewhere`;
  `illegal_move` finds a move for one

Whole runs
- `random_tournaments`: `TournamentRun` plays a tournament without matches: one that was `drawn`, or a `restless` one,
  which players join and leave; it raises `InvalidRun`
- `random_corrections`: `drawn_correction` and `drawn_ruling` are decisions of an organiser on a tournament
- `simulation`: evenings of matches with faults, drawn from a seed; see `arbiter simulate`
"""
