// The page of a match: live, and as a replay.
import { Board } from "./board.ts";
import { Charts } from "./charts.ts";
import { Clocks } from "./clocks.ts";
import { Legal } from "./legal.ts";
import { listen } from "./live.ts";
import { Moves } from "./moves.ts";
import { pairs, say } from "./pairs.ts";
import { Replay } from "./replay.ts";
import { Seat } from "./seat.ts";
import type { News, Position, State } from "./shapes.ts";
import { verify } from "./verify.ts";

const PLAY_MS = 900;

export function match(root: HTMLElement): void {
  const find = <E extends Element>(selector: string): E | null => root.querySelector<E>(selector);
  const svg = find<SVGSVGElement>("svg.board");
  const first = JSON.parse(root.dataset["state"] ?? "{}") as State & { at: number };
  if (!svg) return;
  const [board, clocks, replay] = [new Board(svg), new Clocks(root), new Replay(first.match)];
  const [slider, output] = [find<HTMLInputElement>("input[type=range]"), find("[data-ply]:not(a)")];
  const listed = new Moves(find("[data-moves]"));
  const [result, words] = [find("[data-result]"), find("[data-said]")];
  const [picture, from] = [find("[data-picture]"), find("[data-from]")];
  const [numbers, signs] = [[0, 1, 2].map((n) => find(`[data-numbers="${n}"]`)), find("[data-signs]")];
  const away = [1, 2].map((seat) => find<HTMLElement>(`.panel[data-seat="${seat}"] [data-away]`));
  const afterwards = [find<HTMLElement>("[data-verify]"), find<HTMLElement>("[data-animation]")];
  let [state, at, playing]: [State, number, number | undefined] = [first, first.at, undefined];
  let said = words?.textContent ?? "";

  const seat = root.dataset["seats"] ? new Seat(root, svg, board) : undefined;
  const legal = new Legal(root, svg, board, show);
  const below = find<HTMLElement>("#charts");
  const charts = below ? new Charts(below, (ply) => { stop(); void go(ply); }) : undefined;
  for (const part of root.querySelectorAll<HTMLElement>(".script")) part.hidden = false;

  function place(): void {
    if (slider) [slider.max, slider.value] = [`${state.ply}`, `${at}`];
    say(output, `${at}/${state.ply}`);
    listed.mark(at);
    charts?.mark(at);
    from?.setAttribute("href", `/play?match=${state.match}&ply=${at}`);
    picture?.setAttribute("href", `/matches/${state.match}/picture.svg?ply=${at}`);
    const search = at === state.ply ? "" : `?ply=${at}`;
    if (search !== location.search) history.replaceState(null, "", location.pathname + search);
  }

  function draw(position: Position, animate: boolean): void {
    board.show(position.board, position.said, animate);
    said = position.said;
    tell();
    position.numbers.forEach((counts, n) => pairs(numbers[n] ?? null, counts));
    pairs(signs, position.signs);
  }

  // Says whose move it is, but not at the end of a match that is over: the result is shown there.
  function tell(): void {
    say(words, state.over && at === state.ply ? "" : said);
  }

  async function go(ply: number, animate = false): Promise<void> {
    at = Math.max(0, Math.min(ply, state.ply));
    place();
    const position = await replay.at(at, state.ply);
    if (!position) return;
    draw(position, animate);
    show();
  }

  // Lets the person move, or shows the legal moves at the shown ply.
  function show(): void {
    seat?.take(state, at === state.ply);
    void legal.show(state.match, at, !seat?.moves || at !== state.ply);
  }

  function stop(): void {
    clearInterval(playing);
    playing = undefined;
    const button = find("[data-go=play]");
    button?.replaceChildren("▶");
    button?.setAttribute("aria-label", "Play");
  }

  function play(): void {
    if (playing !== undefined) return stop();
    if (at === state.ply) void go(0);
    const button = find("[data-go=play]");
    button?.replaceChildren("❚❚");
    button?.setAttribute("aria-label", "Pause");
    playing = setInterval(() => { at < state.ply ? void go(at + 1, true) : stop(); }, PLAY_MS);
  }

  const actions: Record<string, () => void> = {
    first: () => void go(0),
    back: () => void go(at - 1),
    play,
    on: () => void go(at + 1, true),
    last: () => void go(state.ply),
  };

  function take(next: News): void {
    const follows = at === state.ply;
    const { move, board: contents, said, numbers, signs } = next;
    if (move && move.ply >= state.ply) {
      listed.add(move);
      charts?.take(move);
      if (contents && said !== undefined && numbers && signs) replay.keep(move.ply + 1, { board: contents, said, numbers, signs });
    }
    if (next.over && !state.over) void charts?.renew().then(place);
    state = { ...state, ...next, ply: Math.max(state.ply, next.ply ?? 0) };
    clocks.set(state, true);
    if (move && follows && contents && said !== undefined && numbers && signs) {
      at = state.ply;
      draw({ board: contents, said, numbers, signs }, true);
    }
    if (move) place();
    tell();
    const { over, present } = state;
    away.forEach((sign, n) => { if (sign && present) sign.hidden = Boolean(over || present[n]); });
    say(result, state.result || state.phase || "");
    for (const part of afterwards) if (part) part.hidden = !over;
    show();
  }

  root.addEventListener("click", (event) => {
    const target = event.target as Element;
    const [step, ply] = [target.closest<HTMLElement>("[data-go]"), target.closest<HTMLElement>("a[data-ply]")];
    if (!step && !ply) return;
    event.preventDefault();
    if (step?.dataset["go"] !== "play") stop();
    if (ply) void go(Number(ply.dataset["ply"]));
    else actions[step?.dataset["go"] ?? ""]?.();
  });
  slider?.addEventListener("input", () => { stop(); void go(Number(slider.value)); });
  document.addEventListener("keydown", (event) => {
    if ((event.target instanceof HTMLInputElement && event.target.type !== "checkbox") || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys: Record<string, string> = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", p: "play" };
    const action = actions[keys[event.key] ?? ""];
    if (!action) return;
    event.preventDefault();
    if (event.key !== "p") stop();
    action();
  });
  find("[data-verify]")?.addEventListener("click", () => void verdict(find("[data-verdict]"), state.match));

  clocks.set(state, true);
  place();
  show();
  const events = (last: string): string => `/matches/${state.match}/events?after=${last || first.revision}${seat ? "&seated=1" : ""}`;
  if (!state.over) listen(events, take);
  setInterval(() => clocks.tick(), 100);
}

async function verdict(place: Element | null, match: string): Promise<void> {
  if (!place) return;
  place.textContent = "Reading the record …";
  try {
    const { events } = await verify(match);
    place.className = "good";
    place.textContent = `✓ Verified in this browser: the hashes of ${events} events form one chain, and the arbiter's `
      + "signature holds. Not checked here: rules and clocks; arbiter verify checks them.";
  } catch (error) {
    place.className = "bad";
    place.textContent = `✗ Not verified: ${error instanceof Error ? error.message : error}`;
  }
}
