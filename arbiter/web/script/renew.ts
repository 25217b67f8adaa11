// Keeps a part of a page current that has no stream: it is loaded again at intervals.
import { ask } from "./ask.ts";

const MOST = 400; // times, so that an abandoned page does not send requests for ever

export function renew(part: HTMLElement, wait = Number(part.dataset["renew"]), left = MOST): void {
  if (!wait || !left) return;
  setTimeout(() => void once(part).then((next) => { if (next) renew(next, wait, left - 1); }), wait);
}

async function once(part: HTMLElement): Promise<HTMLElement | undefined> {
  if (!part.isConnected) return undefined; // it was replaced by another part
  if (document.hidden || part.contains(document.activeElement)) return part; // nothing moves while a person uses it
  try {
    const answer = await ask(location.href);
    if (answer.redirected) {
      location.assign(answer.url);
      return undefined;
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
    if (!answer.ok || !fresh) return part;
    if (!part.contains(document.activeElement)) part.replaceChildren(...fresh.childNodes);
    return fresh.dataset["renew"] || part.dataset["wait"] ? part : undefined;
  } catch {
    return part;
  }
}
