/** The spoken side of the chat: a live region apart from the transcript. */

import { h } from "./dom.js";

const SPOKEN_FOR = 1_000; // milliseconds; shorter is missed by some screen readers

/** Says finished messages once to screen readers, one at a time, apart from the transcript itself. */
export class Announcer {
  #waiting = [];
  #timer = 0;

  constructor(region) {
    this.region = region;
  }

  say(text, lang) {
    this.#waiting.push([text, lang]);
    if (!this.#timer) this.#next();
  }

  #next() {
    const next = this.#waiting.shift();
    this.region.replaceChildren(next ? h("p", { lang: next[1] }, next[0]) : "");
    this.#timer = next ? setTimeout(() => this.#next(), SPOKEN_FOR) : 0;
  }
}
