// The live boards of the front page and of a tournament's page, kept current by one stream. The page loads its content again some seconds after
// a match has ended or, if there is room, another one has begun, and every few seconds while there are no live matches.
import { ask } from "./ask.ts";
import { Board } from "./board.ts";
import { Clocks } from "./clocks.ts";
import { listen } from "./live.ts";
import { say } from "./pairs.ts";
import { renew } from "./renew.ts";
import type { News, State } from "./shapes.ts";

const REST_MS = 4_000; // how long the end of a match stays visible, and how long a new match waits to be shown
const IDLE_MS = 5_000; // how often the page is loaded while there are no live matches

class Card {
  readonly clocks: Clocks;
  readonly #board: Board;
  readonly #said: Element | null;
  #state: State | undefined;

  constructor(root: HTMLElement, svg: SVGSVGElement) {
    this.clocks = new Clocks(root);
    this.#board = new Board(svg);
    this.#said = root.querySelector("[data-said]");
  }

  // Shows news, unless later news is already shown. The first one is a complete state.
  take(news: News): void {
    if (news.revision < (this.#state?.revision ?? 0)) return;
    const state = { ...this.#state, ...news } as State;
    this.#state = state;
    this.clocks.set(state, true);
    if (news.board) this.#board.show(news.board, news.said ?? "", true);
    say(this.#said, state.result || `ply ${state.ply}`);
  }
}

export function grid(root: HTMLElement): void {
  const cards = new Map<string, Card>();
  for (const part of root.querySelectorAll<HTMLElement>("[data-match]")) {
    const svg = part.querySelector<SVGSVGElement>("svg.board");
    if (svg) cards.set(part.dataset["match"] ?? "", new Card(part, svg));
  }
  for (const state of JSON.parse(root.dataset["states"] ?? "[]") as State[]) cards.get(state.match)?.take(state);
  if (cards.size === 0) {
    setTimeout(() => void replace(() => {}), IDLE_MS);
    return;
  }
  let renewal: number | undefined;
  function renewSoon(): void {
    renewal ??= setTimeout(() => void replace(() => {
      stream.close();
      clearInterval(ticking);
    }), REST_MS);
  }
  const query = [...cards.keys()].map((id) => `match=${encodeURIComponent(id)}`);
  const begun = root.dataset["begun"];
  if (begun !== undefined) query.push(`begun=${encodeURIComponent(begun)}`);
  const stream = listen((last) => `/live?${query.join("&")}${last && `&after=${last}`}`, (news) => {
    cards.get(news.match)?.take(news);
    if (news.over) renewSoon();
  }, renewSoon);
  const ticking = setInterval(() => { for (const { clocks } of cards.values()) clocks.tick(); }, 100);
}

// Loads the content of the page again, and calls `leave` to end the old one. Tries again later if the server does not answer, or the keyboard
// focus is in the content.
async function replace(leave: () => void): Promise<void> {
  try {
    if (document.querySelector("main")?.contains(document.activeElement)) throw new Error("it is in use");
    const answer = await ask(location.href);
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    const next = fresh?.querySelector<HTMLElement>("[data-page=grid]");
    if (!fresh || !next) throw new Error("another page");
    leave();
    document.querySelector("main")?.replaceWith(fresh);
    grid(next);
    for (const part of fresh.querySelectorAll<HTMLElement>("[data-renew]")) renew(part);
  } catch {
    setTimeout(() => void replace(leave), IDLE_MS);
  }
}
