// Lists of pairs: numbers beside the board, and what the signs on pieces mean.
export function pairs(list: Element | null, found: [what: string, value: number | string][]): void {
  list?.replaceChildren(...found.map(([what, value]) => {
    const [pair, term, words] = [document.createElement("div"), document.createElement("dt"), document.createElement("dd")];
    [term.textContent, words.textContent] = [what, `${value}`];
    pair.append(term, words);
    return pair;
  }));
}
