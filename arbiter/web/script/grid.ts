// The front page: a grid of live boards, kept current by one stream.
import { Board } from "./board.ts";
import { Clocks } from "./clocks.ts";
import { listen } from "./live.ts";
import type { State } from "./shapes.ts";

export function grid(root: HTMLElement): void {
  const cards = new Map<string, { take(state: State, fresh: boolean): void; clocks: Clocks }>();
  for (const card of root.querySelectorAll<HTMLElement>("[data-match]")) {
    const svg = card.querySelector<SVGSVGElement>("svg.board");
    if (!svg) continue;
    const [board, clocks] = [new Board(svg), new Clocks(card)];
    const said = card.querySelector("[data-said]");
    let revision = 0;
    const take = (state: State, fresh: boolean): void => {
      if (state.revision < revision) return;
      revision = state.revision;
      clocks.set(state, fresh);
      if (state.board) board.show(state.board, state.said ?? "", true);
      if (said) said.textContent = state.result || `ply ${state.ply}`;
    };
    cards.set(card.dataset["match"] ?? "", { take, clocks });
  }
  for (const state of JSON.parse(root.dataset["states"] ?? "[]") as State[]) cards.get(state.match)?.take(state, true);
  const query = [...cards.keys()].map((id) => `match=${encodeURIComponent(id)}`).join("&");
  listen(`/live?${query}`, (state) => cards.get(state.match)?.take(state, true));
  setInterval(() => { for (const { clocks } of cards.values()) clocks.tick(); }, 100);
}
