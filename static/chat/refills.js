/** Refill requests: a card for each number, a warning before one that is being collected pauses, and a way to go on. */

import { languageOf } from "./dom.js";

const WARN = 60_000; // milliseconds before it pauses

export class Refills {
  #collecting = new Map(); // number → { timer, span }
  #asked = new Map(); // number → the line "pauses in a minute"
  #paused = new Map(); // number → the line with the way to go on

  /** `show(number, content, lang, fresh)` puts a card into the transcript, `notice(text, options)` a line, `choose(text)` says it. */
  constructor({ word, show, notice, choose }) {
    Object.assign(this, { word, show, notice, choose });
  }

  updated(event, fresh) {
    const { number, status, card, lang, message } = event;
    this.#stop(number);
    // That it was paused stays told; going on from there is over.
    this.#paused.get(number)?.querySelector("button")?.remove();
    this.#paused.delete(number);
    if (card) this.show(number, card, lang ?? languageOf(message ?? ""), fresh);
    else if (status === "paused") this.#paused.set(number, this.#offer(message, "refillResume", "refillResumeText", fresh));
    else if (event.expires_at) this.#wait(number, event);
    else if (event.state !== "Collect_Refill_Request" || status === "cancelled") this.notice(message, { fresh });
  }

  /** The customer wrote something: the request lives on for as long again. */
  touched() {
    // A copy: an entry that is set again while the map is walked would come up without end.
    for (const [number, { span }] of [...this.#collecting]) this.#arm(number, span);
  }

  clear() {
    for (const number of [...this.#collecting.keys()]) this.#stop(number);
    this.#paused.clear();
  }

  #wait(number, { at, expires_at: until }) {
    const span = new Date(until) - new Date(at ?? Date.now());
    const passed = at ? Date.now() - new Date(at) : 0;
    if (span > passed) this.#arm(number, span, span - passed);
  }

  #arm(number, span, left = span) {
    this.#stop(number);
    if (left <= WARN) return;
    const ask = () => this.#asked.set(number, this.#offer(this.word("refillSoon"), "refillHere", "refillHere", true));
    this.#collecting.set(number, { timer: setTimeout(ask, left - WARN), span });
  }

  #stop(number) {
    clearTimeout(this.#collecting.get(number)?.timer);
    this.#collecting.delete(number);
    this.#asked.get(number)?.remove();
    this.#asked.delete(number);
  }

  #offer(text, label, words, fresh) {
    return this.notice(text, {
      fresh,
      action: this.word(label),
      onaction: (click) => {
        click.currentTarget.remove();
        this.choose(this.word(words));
      },
    });
  }
}
