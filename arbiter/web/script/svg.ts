// Elements of SVG.
const SVG = "http://www.w3.org/2000/svg";

export type Drawn = [name: string, attributes: Record<string, string>];

export function svg(name: string, attributes: Record<string, string>, ...children: Element[]): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Fills a layer with elements. Those of the same name that the layer already has get the new attributes.
export function redraw(layer: Element, parts: Drawn[]): void {
  while (layer.children.length > parts.length) layer.lastElementChild?.remove();
  parts.forEach(([name, attributes], n) => {
    const there = layer.children[n];
    if (there?.tagName !== name) {
      const made = svg(name, attributes);
      if (there) there.replaceWith(made);
      else layer.append(made);
      return;
    }
    for (const [key, value] of Object.entries(attributes)) {
      if (there.getAttribute(key) !== value) there.setAttribute(key, value);
    }
  });
}
