/** The way out of a frame on somebody else's page: a person's data is shown in a window of the pharmacy only. */

import { direction, h, textNodes } from "./dom.js";
import { wordsIn } from "./words.js";

export class Handover {
  #waiting = null;

  constructor({ word, send, say }) {
    Object.assign(this, { word, send, say });
  }

  /** The card's element, all of it in the language of its message. */
  card({ title }, lang = this.word.lang) {
    const word = wordsIn(lang);
    const state = { element: h("p", { class: "chat-confirm-state" }), word };
    const button = h(
      "button",
      { type: "button", class: "chat-main", onclick: () => this.#ask(state) },
      word("continue"),
    );
    return h(
      "div",
      { class: "chat-card chat-handover", role: "group", "aria-label": title, lang: word.lang, dir: direction(word.lang) },
      h("p", { class: "chat-card-head" }, h("span", { class: "chat-card-title" }, textNodes(title, word.lang))),
      h("p", {}, word("continueWhy")),
      button,
      state.element,
    );
  }

  /** The server has an address for the new window. Only one of this site's own is opened. */
  ready({ url }) {
    const state = this.#waiting;
    this.#waiting = null;
    if (!state || !own(url)) return;
    window.open(url, "_blank", "noopener");
    // A browser may keep a window from opening, and does not say so.
    const link = h("a", { href: url, target: "_blank", rel: "noopener" }, state.word("continueLink"));
    state.element.replaceChildren(state.word("continueOpened"), " ", link);
    this.say(this.word("continueOpened"));
  }

  /** Returns whether the server refused to move the chat to our own page, which the card then shows. */
  refused(sentence) {
    const state = this.#waiting;
    this.clear();
    state?.element.replaceChildren(h("bdi", { lang: this.word.lang }, sentence));
    return Boolean(state);
  }

  clear() {
    this.#waiting = null;
  }

  #ask(state) {
    const sent = this.send("handover.request");
    this.#waiting = sent ? state : null;
    state.element.textContent = state.word(sent ? "continueOpening" : "reconnecting");
  }
}

function own(url) {
  return typeof url === "string" && /^\/(?![/\\])/.test(url) && new URL(url, location.origin).origin === location.origin;
}
