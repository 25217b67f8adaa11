// Texts of a page, and lists of pairs: the numbers beside the board, and the meaning of the signs on pieces. Equal texts
// are not set again, since the browser would lay them out again.

export function say(place: Element | null, text: string): void {
  if (!place || place.textContent === text) return;
  const there = place.firstChild;
  if (there instanceof Text && place.childNodes.length === 1) there.data = text; // a new node would cost more
  else place.textContent = text;
}

export function pairs(list: Element | null, found: [what: string, value: number | string][]): void {
  if (!list) return;
  while (list.children.length > found.length) list.lastElementChild?.remove();
  while (list.children.length < found.length) {
    const pair = document.createElement("div");
    pair.append(document.createElement("dt"), document.createElement("dd"));
    list.append(pair);
  }
  found.forEach(([what, value], n) => {
    const pair = list.children[n] as Element;
    say(pair.firstElementChild, what);
    say(pair.lastElementChild, `${value}`);
  });
}
