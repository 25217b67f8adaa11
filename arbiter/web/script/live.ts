// A stream of news of matches. The browser comes back by itself, and says with Last-Event-ID what it has; this says so meanwhile.
import { PATIENCE_MS } from "./ask.ts";
import type { News } from "./shapes.ts";

// Opens a stream; a connection that is not made in time is tried again. `url` tells what to ask for after the last event
// that has come, '' for none. `begun` is called when the server says that another match has begun.
export function listen(url: (last: string) => string, take: (news: News) => void, begun?: () => void): { close(): void } {
  const lost = document.createElement("p");
  lost.className = "lost";
  lost.setAttribute("role", "status");
  let [source, waiting, last]: [EventSource | undefined, number | undefined, string] = [undefined, undefined, ""];

  function close(): void {
    clearTimeout(waiting);
    source?.close();
    lost.remove();
  }

  function wait(): void {
    clearTimeout(waiting);
    waiting = setTimeout(() => { source?.close(); open(); }, PATIENCE_MS);
  }

  function open(): void {
    const opened = new EventSource(url(last));
    source = opened;
    wait();
    opened.onmessage = (event: MessageEvent<string>) => {
      last = event.lastEventId;
      take(JSON.parse(event.data) as News);
    };
    opened.onopen = () => {
      clearTimeout(waiting);
      lost.remove();
    };
    opened.onerror = () => {
      const ended = opened.readyState === EventSource.CLOSED;
      lost.textContent = ended
        ? "The server ended the connection. Load the page again to go on."
        : "The connection is lost. What you see may be old; it is tried again.";
      document.body.append(lost);
      if (ended) clearTimeout(waiting);
      else wait();
    };
    opened.addEventListener("over", close);
    if (begun) opened.addEventListener("begun", begun);
  }

  open();
  return { close };
}
