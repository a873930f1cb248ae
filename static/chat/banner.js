/** The line under the head that says what is unusual: no connection, a busy assistant, a person who takes over. */

import { h } from "./dom.js";

const SHOWN_MODES = ["degraded", "queued", "human"];
const PATIENCE = { connecting: 2_000, waiting: 300 }; // a connection that is quick needs no banner

export class Banner {
  #mode = "bot";
  #status = "connecting";
  #timer = 0;

  constructor(word) {
    this.word = word;
    this.element = h("p", { class: "chat-banner", role: "status", hidden: true });
  }

  /** Whether it says that there is no connection. */
  get offline() {
    return this.element.classList.contains("chat-offline");
  }

  mode(mode) {
    this.#mode = mode;
    this.#show();
  }

  /** @param {"connecting"|"online"|"waiting"|"stopped"} status */
  status(status) {
    this.#status = status;
    clearTimeout(this.#timer);
    if (status in PATIENCE) this.#timer = setTimeout(() => this.#show(), PATIENCE[status]);
    else this.#show();
  }

  #show() {
    const lost = this.#status in PATIENCE;
    const key = lost ? (navigator.onLine === false ? "offline" : "reconnecting") : SHOWN_MODES.find((mode) => mode === this.#mode);
    const sentence = key ? this.word(key) : "";
    if (this.element.textContent !== sentence) this.element.textContent = sentence;
    this.element.className = `chat-banner ${lost ? "chat-offline" : `chat-mode-${this.#mode}`}`;
    this.element.hidden = !sentence;
  }
}
