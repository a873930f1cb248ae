/** The cards of hand-offs: one for each number, all of it in the language of its conversation. */

import { languageOf } from "./dom.js";
import { wordsIn } from "./words.js";

export class Handoffs {
  #newest = new Map(); // number → newest event

  /**
   * `show(number, content, lang, fresh, below)` puts a card into the transcript, `change(number, content, lang)` replaces
   * it there; `form(number, word)` asks for an e-mail address below it.
   */
  constructor({ show, change, say, form }) {
    Object.assign(this, { show, change, say, form });
  }

  updated(event, fresh) {
    this.#newest.set(event.number, event);
    const [content, lang] = cardOf(event);
    this.show(event.number, content, lang, fresh, event.asks_email ? this.form(event.number, wordsIn(lang)) : null);
  }

  /** Another place in the queue, in words. */
  moved({ number, queue }, fresh) {
    const event = this.#newest.get(number);
    if (event?.state !== "open" || event.queue === queue) return;
    event.queue = queue;
    const [content, lang] = cardOf(event);
    this.change(number, content, lang);
    if (fresh) this.say(`${number}: ${queue}`, lang);
  }

  clear() {
    this.#newest.clear();
  }
}

/** The card's content and its language. */
function cardOf({ number, state, queue, lang, rows = [], contact, message }) {
  const word = wordsIn(lang ?? languageOf(message ?? ""));
  const known = [
    [word("handoffNumber"), number],
    [word("handoffState"), queue ?? (word(`handoff_${state}`) || state)],
  ];
  const title = word(`handoff_title_${state}`) || word("handoff");
  return [{ kind: "handoff", data: { title, rows: [...known, ...rows, ...(contact ? [contact] : [])], note: message } }, word.lang];
}
