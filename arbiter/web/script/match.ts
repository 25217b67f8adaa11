// The page of a match: live, and as a replay.
import { Board } from "./board.ts";
import { Charts } from "./charts.ts";
import { Clocks } from "./clocks.ts";
import { Legal } from "./legal.ts";
import { listen } from "./live.ts";
import { pairs, say } from "./pairs.ts";
import { Replay } from "./replay.ts";
import { Seat } from "./seat.ts";
import type { Move, News, Position, State } from "./shapes.ts";
import { verify } from "./verify.ts";

const PLAY_MS = 900;

export function match(root: HTMLElement): void {
  const find = <E extends Element>(selector: string): E | null => root.querySelector<E>(selector);
  const svg = find<SVGSVGElement>("svg.board");
  const first = JSON.parse(root.dataset["state"] ?? "{}") as State & { at: number };
  if (!svg) return;
  const [board, clocks, replay] = [new Board(svg), new Clocks(root), new Replay(first.match)];
  const [slider, output] = [find<HTMLInputElement>("input[type=range]"), find("[data-ply]:not(a)")];
  const listed = find("[data-moves]");
  let [state, at, playing]: [State, number, number | undefined] = [first, first.at, undefined];
  let said = find("[data-said]")?.textContent ?? "";
  let [current, scrolling]: [Element | null, number | undefined] = [find("[data-moves] [aria-current]"), undefined];

  const seat = root.dataset["seats"] ? new Seat(root, svg, board) : undefined;
  const legal = new Legal(root, svg, board, show);
  const below = find<HTMLElement>("#charts");
  const charts = below ? new Charts(below, (ply) => { stop(); void go(ply); }) : undefined;
  for (const part of root.querySelectorAll<HTMLElement>(".script")) part.hidden = false;

  function place(): void {
    if (slider) [slider.max, slider.value] = [`${state.ply}`, `${at}`];
    say(output, `${at}/${state.ply}`);
    const here = listed?.children[at - 1] ?? null;
    if (here !== current) {
      current?.removeAttribute("aria-current");
      here?.setAttribute("aria-current", "step");
      current = here;
      scroll();
    }
    charts?.mark(at);
    find("[data-picture]")?.setAttribute("href", `/matches/${state.match}/picture.svg?ply=${at}`);
    const search = at === state.ply ? "" : `?ply=${at}`;
    if (search !== location.search) history.replaceState(null, "", location.pathname + search);
  }

  // Scrolls the list to the shown move before the next frame. To read its place forces a layout of the page, which is then
  // done once for all changes.
  function scroll(): void {
    scrolling ??= requestAnimationFrame(() => {
      scrolling = undefined;
      if (listed && current) listed.scrollTop += current.getBoundingClientRect().top - listed.getBoundingClientRect().top - 96;
    });
  }

  function draw(position: Position, animate: boolean): void {
    board.show(position.board, position.said, animate);
    said = position.said;
    tell();
    position.numbers.forEach((numbers, n) => pairs(root.querySelector(`[data-numbers="${n}"]`), numbers));
    pairs(find("[data-signs]"), position.signs);
  }

  // Says whose move it is, but not at the end of a match that is over: the result is shown there.
  function tell(): void {
    say(find("[data-said]"), state.over && at === state.ply ? "" : said);
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
      list(listed, move);
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
    for (const seat of [1, 2]) {
      const away = find<HTMLElement>(`.panel[data-seat="${seat}"] [data-away]`);
      if (away && state.present) away.hidden = Boolean(state.over || state.present[seat - 1]);
    }
    say(find("[data-result]"), state.result || state.phase || "");
    const button = find<HTMLElement>("[data-verify]");
    if (button) button.hidden = !state.over;
    const animation = find<HTMLElement>("[data-animation]");
    if (animation) animation.hidden = !state.over;
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
  scroll();
  show();
  const events = (last: string): string => `/matches/${state.match}/events?after=${last || first.revision}${seat ? "&seated=1" : ""}`;
  if (!state.over) listen(events, take);
  setInterval(() => clocks.tick(), 100);
}

function list(moves: Element | null, move: Move): void {
  const [item, link, spent] = [document.createElement("li"), document.createElement("a"), document.createElement("span")];
  item.className = `seat${move.seat}`;
  Object.assign(link, { textContent: move.move, href: `?ply=${move.ply + 1}` });
  link.dataset["ply"] = `${move.ply + 1}`;
  spent.className = "quiet";
  spent.textContent = move.spent_ms === null ? "" : `${(move.spent_ms / 1000).toFixed(1)} s`;
  item.append(link, " ", spent);
  moves?.append(item);
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
