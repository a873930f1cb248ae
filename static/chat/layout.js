/** The chat's frame on the page: head, tools, transcript, composer. */

import { direction, h, icon } from "./dom.js";

/** `parts` are the elements that do something: menu, person, fresh, banner, code, composer. */
export function layout({ word, switchUrl, frame, onclose, parts }) {
  const { lang } = word;
  const other = lang === "he" ? "en" : "he";
  const live = h("div", { class: "chat-hidden", "aria-live": "polite", "aria-atomic": "true" });
  const list = h("ol", { class: "chat-list" });
  const consent = h("p", {}, word("introMore"));
  const view = h(
    "div",
    {
      class: "chat-log",
      role: "log",
      "aria-live": "off",
      "aria-label": word("log"),
      "aria-describedby": "chat-log-hint",
      tabindex: "0",
    },
    h("div", { class: "chat-intro" }, h("p", {}, word("intro")), consent),
    frame ? h("h2", { class: "chat-hidden" }, word("log")) : null, // the messages' headings are of the third level
    list,
  );
  // Where the composer would open a touch screen's keyboard, the title has the focus.
  const title = h(frame ? "h1" : "h2", { id: "chat-title", class: "chat-title", tabindex: "-1" }, word("title"));
  const jump = h("button", { type: "button", class: "chat-jump", hidden: true }, word("newMessages"));
  const close = h(
    "button",
    { type: "button", class: "chat-head-button", title: word("close"), onclick: onclose },
    icon("clear"),
    h("span", { class: "chat-hidden" }, word("close")),
  );
  const section = h(
    "section",
    { class: frame ? "chat chat-frame" : "chat", lang, dir: direction(lang), "aria-labelledby": "chat-title" },
    h(
      "header",
      { class: "chat-head" },
      h("span", { class: "chat-mark" }, icon("cross")),
      h(
        "div",
        { class: "chat-name" },
        title,
        h("p", { class: "chat-disclosure" }, word("disclosure")),
      ),
      parts.menu,
      frame ? close : null,
    ),
    h(
      "div",
      { class: "chat-tools" },
      parts.person,
      parts.fresh,
      switchUrl ? h("a", { class: "chat-switch", href: switchUrl, lang: other, hreflang: other }, word("switchTo")) : null,
    ),
    parts.banner,
    h(
      "div",
      { class: "chat-middle" },
      jump,
      view,
      h("p", { class: "chat-log-hint", id: "chat-log-hint" }, word("logHint")),
    ),
    parts.code,
    parts.composer,
    live,
  );
  return { section, title, live, list, consent, view, jump };
}
