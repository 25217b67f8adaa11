// The script of all pages. Its bundle begins with `//# allFunctionsCalledOnLoad` (package.json): Chromium then compiles the
// functions while the page loads, and not at the first update of a board.
import { explorer } from "./explorer.ts";
import { grid } from "./grid.ts";
import { letters } from "./letters.ts";
import { match } from "./match.ts";
import { renew } from "./renew.ts";

letters();
const pages: Record<string, (root: HTMLElement) => void> = { explorer, grid, match };
for (const root of document.querySelectorAll<HTMLElement>("[data-page]")) pages[root.dataset["page"] ?? ""]?.(root);
for (const part of document.querySelectorAll<HTMLElement>("[data-renew]")) renew(part);
