/** What the assistant looked up for an answer: each call of a tool, with its arguments and its time. */

import { direction, h } from "./dom.js";
import { counted } from "./words.js";

/** " name: value, …" of a call; values that were left out are not shown. */
function argumentNodes(values) {
  const given = Object.entries(values ?? {}).filter(([, value]) => value !== null);
  return given.flatMap(([name, value], at) => [
    `${at ? "," : ""} ${name}: `,
    h("bdi", {}, typeof value === "string" ? value : JSON.stringify(value)),
  ]);
}

/** The look-ups as an element that opens, or null when there were none. */
export function stepList(calls, word, lang) {
  if (!calls.length) return null;
  return h(
    "details",
    { class: "chat-steps", lang: lang, dir: direction(lang) },
    h("summary", {}, `${word("activity")} (${counted(word, "lookups", calls.length)})`),
    h(
      "ol",
      {},
      calls.map((call) =>
        h(
          "li",
          {},
          h("p", {}, h("bdi", {}, call.label ?? "")),
          h("p", { dir: "ltr", lang: "en" }, h("code", {}, h("b", {}, call.name), argumentNodes(call.arguments))),
          h(
            "p",
            { class: "chat-time" },
            call.finished ? word(call.ok ? "done" : "noResult") : word("running"),
            Number.isFinite(call.duration_ms) ? ` · ${word("ms", { n: call.duration_ms })}` : "",
          ),
        ),
      ),
    ),
  );
}
