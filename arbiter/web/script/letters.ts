// Letters on discs in place of the shapes of pieces: a setting of the reader's, which the browser keeps for all boards.
const LETTERS = "letters"; // the class of the document
const KEPT = "arbiter-letters";

export function letters(): void {
  const apply = (): void => {
    const on = localStorage.getItem(KEPT) === "on";
    document.documentElement.classList.toggle(LETTERS, on);
    for (const box of document.querySelectorAll<HTMLInputElement>("[data-letters]")) box.checked = on;
  };
  apply();
  addEventListener("storage", apply); // changed in another window
  for (const box of document.querySelectorAll<HTMLInputElement>("[data-letters]")) {
    box.addEventListener("change", () => {
      localStorage.setItem(KEPT, box.checked ? "on" : "off");
      apply();
    });
  }
}
