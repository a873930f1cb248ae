/** Builds elements from plain values. Strings become text nodes, never markup. */

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  send: "M3 20.5 22 12 3 3.5v6.6l11 1.9-11 1.9z",
  person: "M12 12a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zm0 2.2c-4 0-8.5 2-8.5 5V21h17v-1.8c0-3-4.5-5-8.5-5z",
  clear: "M6.4 5 12 10.6 17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z",
  plus: "M10.7 4h2.6v6.7H20v2.6h-6.7V20h-2.6v-6.7H4v-2.6h6.7z",
  menu: "M12 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm0 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm0 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  stop: "M6 6h12v12H6z",
  up: "M2.5 10.5h4V21h-4zM8.5 21h8.6c.9 0 1.6-.5 1.9-1.3l2.4-6.4c.1-.3.1-.5.1-.8v-1.7c0-1-.8-1.9-1.9-1.9h-5.8l.9-4.2v-.3c0-.4-.2-.8-.4-1L13.2 2.4 8.9 8.6c-.3.4-.4.8-.4 1.3z",
  cross: "M9.5 3h5v6.5H21v5h-6.5V21h-5v-6.5H3v-5h6.5z",
  pill: "M4.9 19.1a6 6 0 0 1 0-8.5l5.7-5.7a6 6 0 0 1 8.5 8.5l-5.7 5.7a6 6 0 0 1-8.5 0zm1.4-7.1a4 4 0 0 0 5.7 5.7l2.8-2.9-5.6-5.6z",
  box: "M3 7l9-4.5L21 7v10l-9 4.5L3 17zm2 1.9v6.9l6 3v-6.9zm14 0-6 3v6.9l6-3zM12 4.7 6.2 7.6 12 10.4l5.8-2.8z",
  equal: "M4 7.5h16v3H4zm0 6h16v3H4z",
  paper: "M5 2h9.5L20 7.5V22H5zm2 2v16h11V9h-5V4zm2 8h7v2H9zm0 4h7v2H9z",
  bag: "M7 8V7a5 5 0 0 1 10 0v1h3l-1 14H5L4 8zm2 0h6V7a3 3 0 0 0-6 0z",
  shield: "M12 2 4 5v6c0 5.5 3.4 9.7 8 11 4.6-1.3 8-5.5 8-11V5zm-1.2 13.7-3.5-3.5 1.4-1.4 2.1 2.1 4.5-4.5 1.4 1.4z",
  book: "M5 3h14v18H6a2 2 0 0 1-2-2V4a1 1 0 0 1 1-1zm1 14v2h11v-2zM8 6v2h8V6z",
  check: "M9.5 17.8 3.8 12.1l1.9-1.9 3.8 3.8 8.8-8.8 1.9 1.9z",
  warn: "M12 2.5 1 21.5h22zm-1.1 6.5h2.2v6.2h-2.2zm0 7.8h2.2V19h-2.2z",
  avoid: "M8 2h8l6 6v8l-6 6H8l-6-6V8zm.5 5.1L7.1 8.5l3.5 3.5-3.5 3.5 1.4 1.4 3.5-3.5 3.5 3.5 1.4-1.4-3.5-3.5 3.5-3.5-1.4-1.4-3.5 3.5z",
  minus: "M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20zM7 11v2h10v-2z",
  clock: "M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20zm0 2a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm1 3v4.6l3.2 3.2-1.4 1.4L11 12.4V7z",
  phone: "M6.6 3H10l1.7 4.6-2.3 1.7a12 12 0 0 0 5.3 5.3l1.7-2.3L21 14v3.4a2.6 2.6 0 0 1-2.6 2.6A15.4 15.4 0 0 1 4 5.6 2.6 2.6 0 0 1 6.6 3z",
  place: "M12 2a7 7 0 0 1 7 7c0 5-7 13-7 13S5 14 5 9a7 7 0 0 1 7-7zm0 4.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
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

// What reads from left to right inside Hebrew: names with their doses, ranges, hours, phones, amounts, addresses.
const ATOM = "[A-Za-z\u00c0-\u024f\\d]+(?:[-–.,:/+@'’&_]+[A-Za-z\u00c0-\u024f\\d]+)*(?:°[CF]?|[%®™+])*";
const SIGN = "(?:(?<![\\p{L}\\d])(?:[<>≤≥] ?|[-−+±*#~])[₪$€£]?|[₪$€£])?"; // ל-200 is no negative number
const AREA = "(?:\\(\\d{2,4}\\)[ -]?)?"; // (03) 555-0104
const ASIDE = " \\([^()\\u0590-\\u05ff]+\\)"; // Paracetamol (Acetaminophen)
const SPACED = "(?: (?:\\+ )?|(?<=\\d%?) [-–—] (?=[-−]?\\d))"; // 200 - 400
const LEFT_TO_RIGHT = new RegExp(`${AREA}${SIGN}${ATOM}(?:${SPACED}${SIGN}${ATOM}|${ASIDE})*`, "gu");
// Hebrew words inside English, with the numbers between them.
const RIGHT_TO_LEFT = /[\u0590-\u05ff]+(?:[ \-–/.,:"'()]*(?:\d+ ?)?[\u0590-\u05ff]+)*/g;
const ISOLATED = /([\u2066-\u2068][^\u2066-\u2069]*\u2069)/;

// What is never split between two lines: a phone, a range, a number of a request, an amount with its unit.
const ENGLISH_UNIT = "(?:m[gl]|mcg|µg|kg|g|l|IU|km|°C|%|(?:tablet|capsule|unit|pack|hour|day|week|month|year|minute|time|dose)s?)";
const HEBREW_UNIT =
  "(?:(?:מ|ק|מק)[״\"](?:ג|ל|מ)|גרם|יח['׳]|יחיד(?:ה|ות)|טבלי(?:יה|ה|ות)|קפסול(?:ה|ות)|מנ(?:ה|ות)|פעמ(?:ים)?|שע(?:ה|ות)|דקות|ימים|יום|שבוע(?:ות)?|חודש(?:ים)?|שנ(?:ה|ים))";
const UNIT = `(?:${ENGLISH_UNIT}|${HEBREW_UNIT})(?![\\p{L}])`;
const NUMBER = "\\d{1,7}(?:[.,:/]\\d{1,4}){0,3}";
const AMOUNT = ` ?${UNIT}(?:/(?:\\d{1,3} ?)?${UNIT})?`;
const WHOLE = new RegExp(`(?<![\\p{L}\\d])(?:[A-Z]-)?[+*]?(?:\\(\\d{1,4}\\) ?)?${NUMBER}(?:(?:-| ?[–—] ?| - )${NUMBER}| \\d{1,4}(?=-\\d)){0,5}(?:${AMOUNT})?`, "gu");
const UNIT_AFTER = new RegExp(`^ ?${UNIT}`, "u"); // of a number that is an element of its own

/** Whether a text holds Hebrew letters. */
export function hasHebrew(text) {
  return /[\u05d0-\u05ea]/.test(text);
}

/** The language of a text that does not say it. */
export function languageOf(text) {
  return hasHebrew(text) ? "he" : "en";
}

/** Text as nodes; what runs against the text's direction stays together unless the server isolated it already. */
export function textNodes(text, lang) {
  const [runs, dir] = lang === "he" ? [LEFT_TO_RIGHT, "ltr"] : [RIGHT_TO_LEFT, "rtl"];
  return text.split(ISOLATED).flatMap((part, at) => (at % 2 ? wholeNodes(part) : runNodes(part, runs, dir)));
}

function runNodes(text, runs, dir) {
  return pieces(text, runs, (run) => h("bdi", { dir }, wholeNodes(run)), wholeNodes);
}

/** What a customer typed as nodes; its direction is that of its first letter, as `dir="auto"` takes it. */
export function typedNodes(text) {
  return textNodes(text, languageOf(/\p{L}/u.exec(text)?.[0] ?? ""));
}

/** Text as nodes; phones, ranges and amounts with their units stay on one line. `before` ends just before the text. */
export function wholeNodes(text, before = "") {
  const unit = /\d$/.test(before) ? (UNIT_AFTER.exec(text)?.[0] ?? "") : "";
  const nodes = pieces(text.slice(unit.length), WHOLE, (piece) => (/\D/.test(piece) ? whole(piece) : piece), (piece) => [piece]);
  return unit ? [whole(unit), ...nodes] : nodes;
}

function whole(text) {
  return h("span", { class: "chat-whole" }, text);
}

/** A text cut at the matches of a pattern: `inside(match)` is a node, `outside(text, before)` the nodes between. */
function pieces(text, pattern, inside, outside) {
  const nodes = [];
  let from = 0;
  const until = (end) => end > from && nodes.push(...outside(text.slice(from, end), text.slice(0, from)));
  for (const match of text.matchAll(pattern)) {
    until(match.index);
    nodes.push(inside(match[0]));
    from = match.index + match[0].length;
  }
  until(text.length);
  return nodes;
}

/** An answer's text: a paragraph for each blank line; the style shows single line breaks and lists. */
export function paragraphs(text, lang) {
  return text
    .split(/\n{2,}/)
    .filter((each) => each.trim())
    .map((each) => h("p", {}, textNodes(each, lang)));
}

const two = (number) => String(number).padStart(2, "0");

/** "18:05" */
export function hour(date) {
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** "31.12.2026 18:05" */
export function dateAndHour(date) {
  return `${two(date.getDate())}.${two(date.getMonth() + 1)}.${date.getFullYear()} ${hour(date)}`;
}
