/**
 * Fact cards. What arrives is text and plain numbers: text becomes text nodes, and the only links are made here, from
 * the digits of a phone, a pair of coordinates, and a source that is an https address. Shapes by kind: agent/answers/card_types.py.
 */

import { direction, h, hasHebrew, icon, languageOf, textNodes, wholeNodes } from "./dom.js";

const MAP = "https://www.google.com/maps/search/?api=1&query=";
const LEVELS = { ok: "check", low: "warn", none: "minus", ask: "phone", avoid: "avoid", caution: "warn", same: "equal" };
const WORST = ["avoid", "caution", "same"]; // pairs of medicines, the most dangerous first
const STATES = { active: "check", completed: "minus", expired: "minus" };
const STEPS = { done: "check", now: "clock", next: "minus", stopped: "avoid" };
const KINDS = {
  medication: { icon: "pill", body: () => [] },
  stock: { icon: "box", body: (data, lang) => [stores(data, lang), products(data, lang)] },
  equivalents: { icon: "equal", body: (data, lang) => [products(data, lang)] },
  interactions: { icon: "warn", body: (data, lang) => [list(objects(data.pairs), pair, lang)] },
  prescriptions: { icon: "paper", body: (data, lang, choose) => [list(objects(data.prescriptions), prescription(choose), lang)] },
  identity: { icon: "shield", body: () => [] },
  confirm: { icon: "paper", body: () => [] },
  handoff: { icon: "person", body: () => [] },
  refill: { icon: "pill", body: (data, lang) => [steps(objects(data.steps), lang)] },
  sources: { icon: "book", body: (data, lang) => [list(objects(data.items), sourceBlock(data.words), lang)] },
};

/** A value as text; what is neither text nor a number nor a list of them is nothing. */
function plain(value) {
  if (Array.isArray(value)) return value.filter((each) => ["string", "number"].includes(typeof each)).join(", ");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** A key of a table; of anything else "". */
function known(key, table) {
  return typeof key === "string" && Object.hasOwn(table, key) ? key : "";
}

function objects(value) {
  return Array.isArray(value) ? value.filter((each) => each && typeof each === "object" && !Array.isArray(each)) : [];
}

function lists(value) {
  return Array.isArray(value) ? value.filter(Array.isArray) : [];
}

/** A name, a number or a short value: it keeps its own direction whatever the text beside it. */
function piece(value, lang) {
  const text = plain(value);
  if (!text) return null;
  const foreign = hasHebrew(text);
  return h("bdi", { dir: foreign ? direction(lang) : "ltr" }, foreign ? textNodes(text, lang) : wholeNodes(text));
}

/** A sentence; one that is all in the other language than the card has its own direction. */
function sentence(value, lang, attributes = {}) {
  const text = plain(value);
  if (!text) return null;
  const latin = /[a-z]/i.test(text);
  const other = hasHebrew(text) ? !latin && "rtl" : latin && "ltr";
  return h("p", { dir: other || null, ...attributes }, textNodes(text, lang));
}

/** Words with an icon beside them: colour alone never carries the meaning. */
function marked(name, value, lang, kind) {
  const words = piece(value, lang);
  return words && h("span", { class: `chat-mark-line chat-is-${kind}` }, name ? icon(name) : null, words);
}

function level(data, lang) {
  const name = known(data.level, LEVELS);
  return marked(LEVELS[name], data.stock ?? data.label, lang, name || "plain");
}

function tag(data, lang) {
  const kind = data.rx === true ? "paper" : data.rx === false ? "bag" : null;
  const words = piece(data.tag, lang);
  return words && h("span", { class: "chat-tag" }, kind ? icon(kind) : null, words);
}

function list(items, block, lang) {
  const blocks = items.map((each) => block(each, lang)).filter((each) => each.childElementCount);
  return blocks.length ? h("ul", { class: "chat-blocks" }, blocks) : null;
}

/** Rows of label and value. */
function pairs(rows, lang) {
  if (!rows.length) return null;
  return h(
    "dl",
    { class: "chat-rows" },
    rows.map(([label, content]) => h("div", {}, h("dt", {}, piece(label, lang)), h("dd", {}, piece(content, lang) ?? "–"))),
  );
}

function table(title, columns, rows, lang) {
  const head = columns.map((column) => h("th", { scope: "col" }, piece(column, lang)));
  return h(
    "table",
    { class: "chat-table" },
    h("caption", { class: "chat-hidden" }, plain(title)),
    columns.length ? h("thead", {}, h("tr", {}, head)) : null,
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, at) => h(at ? "td" : "th", { scope: at ? null : "row" }, cell))))),
  );
}

/** Products with their tags and what there is of each. */
function products(data, lang) {
  const all = objects(data.products);
  const rows = all.map((each) => [[piece(each.name, lang), tag(each, lang)], level(each, lang) ?? "–"]);
  const columns = Array.isArray(data.columns) ? data.columns.slice(0, 2) : [];
  return rows.length ? numbered(table(data.title, columns, rows, lang), rows) : null;
}

function stores(data, lang) {
  const words = data.words && typeof data.words === "object" ? data.words : {};
  const all = objects(data.stores);
  return numbered(list(all, (each) => store(each, lang, words), lang), all);
}

/** Numbers the rows of an element, if there are several, so that a customer can point at one ("the second one"). */
function numbered(element, all) {
  if (all.length > 1) element?.classList.add("chat-numbered");
  return element;
}

function store(data, lang, words) {
  const opening = data.open === true ? "open" : data.open === false ? "closed" : "plain";
  const where = [piece(data.km, lang), marked("clock", data.hours, lang, opening)].filter(Boolean);
  const today = [data.today, data.note].map((each) => sentence(each, lang, { class: "chat-soft" }));
  const links = [phoneLink(data.phone, lang, data.name, words), mapLink(data.place, lang, data.name, words)].filter(Boolean);
  return h(
    "li",
    {},
    lead(data.name, level(data, lang), lang),
    where.length ? h("p", { class: "chat-line" }, where) : null,
    today,
    links.length ? h("p", { class: "chat-links" }, links) : null,
  );
}

/** The first line of a block: its name, and what is most wanted of it. */
function lead(name, beside, lang) {
  const words = piece(name, lang);
  if (!words && !beside) return null;
  return h("p", { class: "chat-lead" }, words && h("b", {}, words), beside);
}

/** A link that calls; a number that is none stays text. */
function phoneLink(phone, lang, name, words) {
  const shown = plain(phone);
  const number = shown.replace(/[\s().-]/g, "");
  if (!/^(\+|\*)?\d{3,15}$/.test(number)) return shown ? piece(shown, lang) : null;
  return h(
    "a",
    { class: "chat-link", href: `tel:${number}` },
    icon("phone"),
    h("span", { class: "chat-hidden" }, `${plain(words.call)} ${plain(name)} `),
    h("bdi", { dir: "ltr", class: "chat-whole" }, shown),
  );
}

/** A link to a map, from two numbers and nothing else. */
function mapLink(place, lang, name, words) {
  const { lat, lng } = place && typeof place === "object" ? place : {};
  const valid = typeof lat === "number" && typeof lng === "number" && Math.abs(lat) <= 90 && Math.abs(lng) <= 180;
  if (!valid) return null;
  const label = plain(words.map) || "Map";
  return h(
    "a",
    { class: "chat-link", href: `${MAP}${lat},${lng}`, target: "_blank", rel: "noopener noreferrer" },
    icon("place"),
    h("span", {}, label),
    h("span", { class: "chat-hidden" }, ` ${plain(name)}, ${plain(words.window)}`),
  );
}

function pair(data, lang) {
  const names = Array.isArray(data.names) ? data.names.map((each) => piece(each, lang)).filter(Boolean) : [];
  const joined = names.flatMap((name, at) => (at ? [" + ", name] : [name]));
  return h(
    "li",
    {},
    level(data, lang),
    joined.length ? h("p", { class: "chat-lead" }, h("b", {}, joined)) : null,
    sentence(data.text, lang),
  );
}

/** The block of a prescription, with a button for its refill, which sends a question as if it had been written. */
function prescription(choose) {
  return (data, lang) => prescriptionBlock(data, lang, choose);
}

function prescriptionBlock(data, lang, choose) {
  const [label, question] = lists([data.ask]).flat().map(plain);
  const state = known(data.state, STATES);
  const ready = data.can_refill === true;
  const facts = [piece(data.refills, lang), marked(ready ? "check" : "minus", data.refill, lang, ready ? "ok" : "plain")];
  return h(
    "li",
    {},
    lead(data.name, marked(STATES[state], data.status, lang, state === "active" ? "ok" : "plain"), lang),
    facts.some(Boolean) ? h("p", { class: "chat-line" }, facts) : null,
    pairs(lists(data.rows), lang),
    label && question && choose
      ? h(
          "button",
          { type: "button", class: "chat-plain chat-row-button", onclick: () => choose(question) },
          label,
          h("span", { class: "chat-hidden" }, " ", piece(data.name, lang)),
        )
      : null,
  );
}

/** The steps of a refill in their order: what is done, where it is, what is to come. */
function steps(all, lang) {
  if (!all.length) return null;
  return h(
    "ol",
    { class: "chat-steps" },
    all.map((each) => {
      const state = known(each.state, STEPS) || "next";
      return h(
        "li",
        { class: `chat-step-${state}`, "aria-current": state === "now" ? "step" : null },
        h("span", { class: "chat-line" }, icon(STEPS[state]), piece(each.label, lang)),
        h("span", { class: "chat-hidden" }, ` (${plain(each.mark)}) `),
        each.time ? h("span", { class: "chat-soft" }, piece(each.time, lang)) : null,
      );
    }),
  );
}

/** The most dangerous level of a card's pairs, "" without any: the card looks like it. */
function alarmOf(kind, data) {
  const levels = kind === "interactions" ? objects(data.pairs).map((each) => each.level) : [];
  return WORST.find((level) => levels.includes(level)) ?? "";
}

/** A stored answer's question and where the answer is from; a source that is a whole address is a link. */
function sourceBlock(words) {
  return (data, lang) => h(
    "li",
    {},
    lead(data.title, null, lang),
    webLink(data.text, words) ?? sentence(data.text, lang),
    sentence(data.date, lang, { class: "chat-soft" }),
  );
}

function webLink(value, words) {
  const address = plain(value);
  if (!/^https:\/\/[^\s"'<>]+$/.test(address)) return null;
  const link = h(
    "a",
    { class: "chat-link chat-address", href: address, target: "_blank", rel: "noopener noreferrer" },
    h("bdi", { dir: "ltr" }, address),
    h("span", { class: "chat-hidden" }, ` ${plain(words?.window)}`),
  );
  return h("p", { class: "chat-links" }, link);
}

/** Any kind's rows: a table when its columns have names, else labels and values. */
function rows(data, lang) {
  const found = lists(data.rows);
  if (!found.length || !Array.isArray(data.columns)) return pairs(found, lang);
  const cells = found.map((row) => row.map((cell) => piece(cell, lang) ?? "–"));
  return table(data.title, data.columns, cells, lang);
}

/** The card as an element, or null for a kind or a shape that this version does not know. `choose(text)` sends a question. */
export function card(content, lang, choose) {
  const { kind, data } = content && typeof content === "object" ? content : {};
  if (!known(kind, KINDS) || !data || typeof data !== "object") return null;
  const language = lang ?? languageOf(JSON.stringify(data));
  const title = piece(data.title, language);
  const alarm = alarmOf(kind, data);
  const body = [
    ...KINDS[kind].body(data, language, choose),
    rows(data, language),
    sentence(data.note, language, { class: "chat-note" }),
    sentence(data.source, language, { class: "chat-source" }),
  ].filter(Boolean);
  if (!title && !body.length) return null;
  return h(
    "div",
    {
      class: `chat-card chat-card-${kind}${alarm && ` chat-alarm-${alarm}`}`,
      role: "group",
      "aria-label": plain(data.title) || null,
      lang: language,
      dir: direction(language),
    },
    h(
      "div",
      { class: "chat-card-head" },
      title && h("h4", { class: "chat-card-title" }, icon(LEVELS[alarm] ?? KINDS[kind].icon), title),
      tag(data, language),
    ),
    body,
  );
}

const ROWS = ".chat-card-head, tr, dl > div, .chat-lead, .chat-line, .chat-links";

/** What a card on the page says, as lines of plain text, for the record of a conversation. */
export function cardLines(made) {
  const lines = [...made.querySelectorAll(`${ROWS}, p, li > span`)];
  return lines.map((line) => {
    const parts = line.matches(ROWS) ? [...line.children] : [line];
    return parts.map((part) => part.textContent.trim()).join(" – ");
  });
}
