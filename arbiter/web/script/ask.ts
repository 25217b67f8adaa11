// Requests that do not wait for ever: a browser may hold one back, or lose its connection without a word.
export const PATIENCE_MS = 10_000;

export function ask(url: string, options: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
}
