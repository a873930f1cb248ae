/** One renderer for every kind of fact card: title, tag, rows of label and value, table, note, source. */

import { h } from "./dom.js";

const KINDS = new Set(["medication", "stock", "equivalents", "interactions", "prescriptions", "handoff", "sources"]);

function value(content) {
  if (Array.isArray(content)) return content.map(String).join(", ");
  return content === null || content === undefined ? "–" : String(content);
}

function table({ title, columns, rows }) {
  return h(
    "div",
    { class: "chat-table", tabindex: "0", role: "group", "aria-label": value(title) },
    h(
      "table",
      {},
      h("caption", { class: "chat-hidden" }, value(title)),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, h("bdi", {}, value(column)))))),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h("tr", {}, row.map((cell, at) => h(at ? "td" : "th", { scope: at ? null : "row" }, h("bdi", {}, value(cell))))),
        ),
      ),
    ),
  );
}

function pairs(rows) {
  return h(
    "dl",
    { class: "chat-rows" },
    rows.map(([label, content]) =>
      h("div", {}, h("dt", {}, h("bdi", {}, value(label))), h("dd", {}, h("bdi", {}, value(content)))),
    ),
  );
}

/** The card as an element, or null for a kind or a shape that this version does not know. */
export function card({ kind, data } = {}) {
  if (!KINDS.has(kind) || !data || typeof data !== "object") return null;
  const rows = Array.isArray(data.rows) ? data.rows.filter(Array.isArray) : [];
  const columns = Array.isArray(data.columns) ? data.columns : null;
  return h(
    "div",
    { class: `chat-card chat-card-${kind}`, role: "group", "aria-label": data.title ? value(data.title) : null },
    data.title || data.tag
      ? h(
          "p",
          { class: "chat-card-head" },
          data.title ? h("bdi", { class: "chat-card-title" }, value(data.title)) : null,
          data.tag ? h("bdi", { class: "chat-tag" }, value(data.tag)) : null,
        )
      : null,
    rows.length ? (columns ? table({ title: data.title, columns, rows }) : pairs(rows)) : null,
    data.note ? h("p", { class: "chat-note" }, value(data.note)) : null,
    data.source ? h("p", { class: "chat-source" }, value(data.source)) : null,
  );
}
