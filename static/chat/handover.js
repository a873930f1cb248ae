/** The way out of a frame on somebody else's page: a person's data is shown in a window of the pharmacy only. */

import { h } from "./dom.js";

export class Handover {
  #waiting = null;

  constructor({ word, send, say }) {
    Object.assign(this, { word, send, say });
  }

  /** The card's element. */
  card({ title }) {
    const state = h("p", { class: "chat-confirm-state" });
    const button = h(
      "button",
      { type: "button", class: "chat-main", onclick: () => this.#ask(state) },
      this.word("continue"),
    );
    return h(
      "div",
      { class: "chat-card chat-handover", role: "group", "aria-label": title },
      h("p", { class: "chat-card-head" }, h("bdi", { class: "chat-card-title" }, title)),
      h("p", {}, this.word("continueWhy")),
      button,
      state,
    );
  }

  /** The server has an address for the new window. Only one of this site's own is opened. */
  ready({ url }) {
    const state = this.#waiting;
    this.#waiting = null;
    if (!state || !own(url)) return;
    window.open(url, "_blank", "noopener");
    // A browser may keep a window from opening, and does not say so.
    const link = h("a", { href: url, target: "_blank", rel: "noopener" }, this.word("continueLink"));
    state.replaceChildren(this.word("continueOpened"), " ", link);
    this.say(this.word("continueOpened"));
  }

  /** Returns whether the server refused to move the chat to our own page, which the card then shows. */
  refused(sentence) {
    const state = this.#waiting;
    this.clear();
    if (state) state.textContent = sentence;
    return Boolean(state);
  }

  clear() {
    this.#waiting = null;
  }

  #ask(state) {
    const sent = this.send("handover.request");
    this.#waiting = sent ? state : null;
    state.textContent = sent ? this.word("continueOpening") : this.word("reconnecting");
  }
}

function own(url) {
  return typeof url === "string" && /^\/(?![/\\])/.test(url) && new URL(url, location.origin).origin === location.origin;
}
