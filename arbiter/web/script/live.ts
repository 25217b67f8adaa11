// A stream of news of matches. The browser reconnects by itself, with Last-Event-ID; meanwhile the page says that the connection is lost.
import { PATIENCE_MS } from "./ask.ts";
import type { News } from "./shapes.ts";

// Opens a stream; a connection that takes too long is tried again. `url` returns the address of the events after the last
// one received, '' for none. `begun` is called when the server announces that another match has begun.
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
        ? "The server ended the connection. Load the page again to continue."
        : "The connection is lost. What you see may be old; the page tries to connect again.";
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
