// The explorer of a game: plays both sides on a board, with the legal moves that the server sends.
import { ask } from "./ask.ts";
import { Board } from "./board.ts";
import { pairs } from "./pairs.ts";
import { Picker } from "./picker.ts";
import type { Choices, Position } from "./shapes.ts";

export function explorer(root: HTMLElement): void {
  const find = <E extends Element>(selector: string): E | null => root.querySelector<E>(selector);
  const svg = find<SVGSVGElement>("svg.board");
  if (!svg) return;
  const [board, line]: [Board, string[]] = [new Board(svg), []];
  let wanted = 0;
  const picker = new Picker(svg, board, find("[data-hint]"), find("[data-options]"), (move) => go([...line, move]));
  for (const part of root.querySelectorAll<HTMLElement>(".script")) part.hidden = false;

  function go(moves: string[], animate = true): void {
    line.splice(0, line.length, ...moves);
    void show(animate);
  }

  async function show(animate: boolean): Promise<void> {
    const now = ++wanted;
    const query = new URLSearchParams({ moves: line.join(" ") });
    const answer = await ask(`/games/${encodeURIComponent(root.dataset["game"] ?? "")}/line?${query}`);
    const place = find("[data-said]");
    if (now !== wanted) return;
    const said = await answer.json() as Choices & Position & { message?: string };
    if (!answer.ok) {
      if (place) place.textContent = said.message ?? answer.statusText;
      return;
    }
    board.show(said.board, said.said, animate);
    picker.offer(said);
    pairs(find("[data-signs]"), said.signs);
    if (place) place.textContent = said.said;
    const [list, back] = [find("[data-line]"), find<HTMLButtonElement>("[data-take-back]")];
    if (list) list.textContent = line.join(" ");
    find("[data-from]")?.setAttribute("href", `/play?${new URLSearchParams({ game: root.dataset["game"] ?? "", moves: line.join(" ") })}`);
    if (back) back.disabled = !line.length;
  }

  find("[data-take-back]")?.addEventListener("click", () => go(line.slice(0, -1), false));
  void show(false);
}
