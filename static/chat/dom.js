/** Builds elements from plain values. Strings become text nodes, never markup. */

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  send: "M3 20.5 22 12 3 3.5v6.6l11 1.9-11 1.9z",
  person: "M12 12a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zm0 2.2c-4 0-8.5 2-8.5 5V21h17v-1.8c0-3-4.5-5-8.5-5z",
  clear: "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z",
  cross: "M9.5 3h5v6.5H21v5h-6.5V21h-5v-6.5H3v-5h6.5z",
};

/** An element; a property that starts with "on" is a listener, a null or false one is left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  svg.setAttribute("class", `chat-icon chat-icon-${name}`);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** The direction a language is written in. */
export function direction(lang) {
  return lang === "he" ? "rtl" : lang === "en" ? "ltr" : "auto";
}

// Words of Latin letters and digits, joined by one space, hyphen, slash …: "Ibuprofen 200 mg", "08:00–17:00".
const LEFT_TO_RIGHT = /[A-Za-z0-9@]+(?:[-–.:/+@'’_]+[A-Za-z0-9]+)*%?(?: (?:\+ )?[A-Za-z0-9]+(?:[-–.:/+@'’_]+[A-Za-z0-9]+)*%?)*/g;
const ISOLATES = /[\u2066-\u2069]/;

/** Text as nodes; in Hebrew, names, doses, hours and phones stay together unless the server isolated them already. */
export function textNodes(text, lang) {
  if (lang !== "he" || ISOLATES.test(text)) return [document.createTextNode(text)];
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(LEFT_TO_RIGHT)) {
    if (match.index > from) nodes.push(document.createTextNode(text.slice(from, match.index)));
    nodes.push(h("bdi", { dir: "ltr" }, match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/** An answer's text: a paragraph for each blank line; single line breaks and lists are kept by the style. */
export function paragraphs(text, lang) {
  return text
    .split(/\n{2,}/)
    .filter((each) => each.trim())
    .map((each) => h("p", {}, textNodes(each, lang)));
}
