import { grid } from "./grid.ts";
import { match } from "./match.ts";

const pages: Record<string, (root: HTMLElement) => void> = { grid, match };
for (const root of document.querySelectorAll<HTMLElement>("[data-page]")) pages[root.dataset["page"] ?? ""]?.(root);
