// Requests with a time limit: a browser may delay a request, or lose its connection without noticing.
export const PATIENCE_MS = 10_000;

export function ask(url: string, options: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
}
