/** How many matches a run of a bot plays, and how many more it may agree on. */

/** Counts the matches of one run. */
export class MatchSlots {
  /** How many matches are under way, or agreed on. */
  playing = 0;
  /** How many more may be agreed on before the run ends; `Infinity` for no limit. */
  left: number;

  /** `mostMatches` at once, 0 for no limit; `matches` until the run ends, undefined for no limit. */
  constructor(
    private readonly mostMatches: number,
    matches: number | undefined,
  ) {
    this.left = matches ?? Number.POSITIVE_INFINITY;
  }

  /** Whether there is room for one more match. */
  get isFree(): boolean {
    return this.objection === undefined;
  }

  /** Returns whether there is room for one more match, and for those that so many open seeks may become. */
  isFreeBeside(seeks: number): boolean {
    const once = this.mostMatches <= 0 || this.playing + 1 + Math.min(seeks, 1) <= this.mostMatches;
    return once && seeks < this.left;
  }

  /** Why there is no room for one more match; undefined if there is. */
  get objection(): string | undefined {
    if (this.left <= 0) return "this bot has as many matches as it plays before it stops";
    if (this.mostMatches > 0 && this.playing >= this.mostMatches)
      return `this bot plays ${this.mostMatches} matches at once, and is playing them`;
    return undefined;
  }
}
