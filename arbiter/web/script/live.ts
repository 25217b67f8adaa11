// A stream of states. The browser comes back by itself, and says with Last-Event-ID what it has; this says so meanwhile.
import type { State } from "./shapes.ts";

export function listen(url: string, take: (state: State) => void): EventSource {
  const source = new EventSource(url);
  const lost = document.createElement("p");
  lost.className = "lost";
  lost.setAttribute("role", "status");
  source.onmessage = (event: MessageEvent<string>) => take(JSON.parse(event.data) as State);
  source.onopen = () => lost.remove();
  source.onerror = () => {
    lost.textContent = source.readyState === EventSource.CLOSED
      ? "The server ended the connection. Load the page again to go on."
      : "The connection is lost. What you see may be old; it is tried again.";
    document.body.append(lost);
  };
  source.addEventListener("over", () => {
    source.close();
    lost.remove();
  });
  return source;
}
