// A person's seat in a match: moves, draws and resignation are sent to the server, which decides.
import { ask } from "./ask.ts";
import type { Board } from "./board.ts";
import { say } from "./pairs.ts";
import { Picker } from "./picker.ts";
import { renew } from "./renew.ts";
import type { Choices, State } from "./shapes.ts";

const SOUND = "arbiter-sound";
const AGAIN_MS = 1_000;

export class Seat {
  readonly #root: HTMLElement;
  readonly #seats: number[];
  readonly #picker: Picker;
  #state: State | undefined;
  #offered = -1; // the ply whose legal moves are offered or requested
  #live = true;
  #renewed = false;

  constructor(root: HTMLElement, svg: SVGSVGElement, board: Board) {
    this.#root = root;
    this.#seats = (root.dataset["seats"] ?? "").split(" ").map(Number);
    const find = <E extends Element>(selector: string): E | null => root.querySelector<E>(selector);
    this.#picker = new Picker(svg, board, find("[data-hint]"), find("[data-options]"), (move) => void this.#play(move));
    find("form[data-move]")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const field = find<HTMLInputElement>("[name=move]");
      void this.#play(field?.value ?? "");
      if (field) field.value = "";
    });
    find("form[data-acts]")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const act = (event as SubmitEvent).submitter?.dataset["act"] ?? "";
      if (act !== "resign" || confirm("Resign this match?")) void this.#send("acts", { act });
    });
    const sound = find<HTMLInputElement>("[data-sound]");
    if (sound) {
      sound.checked = localStorage.getItem(SOUND) === "on";
      sound.addEventListener("change", () => localStorage.setItem(SOUND, sound.checked ? "on" : "off"));
    }
  }

  // Takes a state of the match. live: the board shows this state, not an earlier ply.
  take(state: State, live: boolean): void {
    if (this.#state && state.move && !this.#seats.includes(state.move.seat) && state.ply > this.#state.ply) beep();
    [this.#state, this.#live] = [state, live];
    const open = Boolean(state.offer) && !this.#seats.includes(state.offer ?? 0) && !state.over;
    for (const act of ["accept", "decline"]) this.#show(`[data-act=${act}]`, open);
    this.#show("[data-seat][aria-label]:not(.panel)", !state.over);
    this.#show("[data-rematch]", Boolean(state.over));
    const rematches = this.#root.querySelector<HTMLElement>("#rematches");
    if (state.over && rematches && !this.#renewed) {
      this.#renewed = true;
      renew(rematches, Number(rematches.dataset["wait"]));
    }
    if (!this.#mine() || !live) {
      this.#offered = -1;
      this.#picker.clear();
      this.#show("[data-act=claim]", false);
      this.#say(state.over ? "" : live ? "The other side is to move." : "Go to the last ply to move.");
    } else if (this.#offered !== state.ply) {
      this.#offered = state.ply;
      void this.#ask(state.ply);
    }
  }

  // Whether the person is to move.
  get moves(): boolean {
    return this.#mine();
  }

  #mine(): boolean {
    return Boolean(this.#state?.active && this.#seats.includes(this.#state.turn));
  }

  async #ask(ply: number): Promise<void> {
    try {
      const answer = await ask(`/matches/${this.#state?.match}/choices?ply=${ply}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const choices = await answer.json() as Choices;
      if (this.#offered !== ply || !this.#mine() || !this.#live) return;
      this.#picker.offer(choices);
      this.#show("[data-act=claim]", Boolean(choices.claim));
    } catch {
      this.#say("The legal moves can't be read now; the page tries again.");
      setTimeout(() => { if (this.#offered === ply) void this.#ask(ply); }, AGAIN_MS);
    }
  }

  async #play(move: string): Promise<void> {
    const ply = this.#state?.ply ?? 0;
    this.#say(`${move} …`);
    if (await this.#send("moves", { move, ply: `${ply}` })) return;
    if (this.#offered === ply && this.#mine()) void this.#ask(ply);
  }

  // Sends a form, and shows why it was refused. A repeated request counts once.
  async #send(where: string, fields: Record<string, string>): Promise<boolean> {
    const request = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16)).join("-");
    const body = new URLSearchParams({ form: this.#root.dataset["form"] ?? "", request, ...fields });
    try {
      const answer = await ask(`/matches/${this.#state?.match}/${where}`, {
        method: "POST", body, headers: { accept: "application/json" },
      });
      const said = await answer.json() as { message?: string };
      if (!answer.ok) this.#say(said.message ?? answer.statusText, true);
      return answer.ok;
    } catch {
      this.#say("The server can't be reached, and nothing was sent. Try again.", true);
      return false;
    }
  }

  #say(words: string, wrong = false): void {
    const hint = this.#root.querySelector("[data-wrong]");
    const place = wrong && hint ? hint : this.#root.querySelector("[data-hint]");
    if (!wrong) say(hint, "");
    say(place, words);
  }

  #show(selector: string, shown: boolean): void {
    const part = this.#root.querySelector<HTMLElement>(selector);
    if (part) part.hidden = !shown;
  }
}

function beep(): void {
  if (localStorage.getItem(SOUND) !== "on") return;
  const context = new AudioContext();
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  tone.frequency.value = 520;
  volume.gain.setValueAtTime(0.15, context.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.15);
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + 0.15);
  tone.onended = () => void context.close();
}
