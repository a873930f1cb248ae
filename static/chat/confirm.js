/** Cards that ask for a yes before something is done: open, on their way, answered, expired, called off, replaced. */

import { direction, h, hour, languageOf, textNodes } from "./dom.js";

const WARN_AT = [60, 20]; // seconds before a card expires
const OVER = new Set(["expired", "called_off", "superseded"]); // why an answer is refused for good
const LONGEST_WAIT = 2 ** 31 - 1; // a browser's timer cannot count further

export class Confirmations {
  #cards = new Map(); // confirm_id → card
  #waiting = null; // the card whose answer the server has not taken up yet

  constructor({ word, send, say }) {
    Object.assign(this, { word, send, say });
  }

  /** The card's element; one that came too late for an answer is shown as such. */
  add({ confirm_id: id, summary, expires_at: until }, fresh) {
    const { title, yes, no } = summary;
    const rows = summary.rows.map((row) => row.map((cell) => String(cell ?? "–")));
    const lang = languageOf(title);
    const card = { id, timers: [], answers: {} };
    const button = (decision, label) =>
      (card.answers[decision] = h(
        "button",
        { type: "button", class: decision === "yes" ? "chat-main" : "chat-plain", onclick: () => this.#answer(card, decision) },
        label,
      ));
    card.state = h("p", { class: "chat-confirm-state" });
    card.buttons = h("div", { class: "chat-confirm-answers" }, button("yes", yes), button("no", no));
    card.element = h(
      "div",
      { class: "chat-card chat-confirm", role: "group", "aria-label": title, lang, dir: direction(lang) },
      h("p", { class: "chat-card-head" }, h("bdi", { class: "chat-card-title" }, textNodes(title, lang))),
      h(
        "dl",
        { class: "chat-rows" },
        rows.map(([label, value]) =>
          h("div", {}, h("dt", {}, textNodes(label, lang)), h("dd", {}, textNodes(value, lang))),
        ),
      ),
      card.buttons,
      h("div", { lang: this.word.lang, dir: direction(this.word.lang) }, card.state),
    );
    // Only the last card can be answered; the server decides about an answer that is on its way.
    for (const older of this.#cards.values()) if (older !== this.#waiting) this.#close(older, this.word("error_superseded"));
    this.#cards.set(id, card);
    this.#expire(card, new Date(until), fresh);
    return card.element;
  }

  /** What is announced of a card to screen readers, once. */
  spoken({ summary: { title, rows, yes, no } }) {
    const facts = rows.map(([label, value]) => `${label}: ${value}`);
    return [title, ...facts, `${yes} / ${no}`].join(". ");
  }

  /** A message answers a card, here or in another tab. */
  answered(id, decision) {
    const card = this.#cards.get(id);
    if (!card) return;
    const answer = card.answers[decision ?? card.decision]?.textContent;
    this.#close(card, answer ? this.word("confirmChosen", { answer }) : this.word("confirmAnswered"));
  }

  /** The server has ended a card without an answer. */
  ended({ confirm_id: id, reason }) {
    const card = this.#cards.get(id);
    if (card) this.#close(card, this.word(`error_${reason}`) || this.word("error_expired"));
  }

  /** The server refused something; returns whether it was a card's answer, so that the card shows it. */
  refused({ code }) {
    const card = this.#waiting;
    if (!card) return false;
    const sentence = this.word(`error_${code}`) || this.word("error_internal");
    if (OVER.has(code)) this.#close(card, sentence);
    else this.#reopen(card, sentence);
    this.say(sentence);
    return true;
  }

  /** Nothing is at work for the answer that was given, so it has to be given again. */
  notTaken() {
    if (this.#waiting) this.#reopen(this.#waiting, this.word("confirmLost"));
  }

  clear() {
    for (const card of this.#cards.values()) card.timers.forEach(clearTimeout);
    this.#cards.clear();
    this.#waiting = null;
  }

  #answer(card, decision) {
    if (card.closed || this.#waiting === card) return;
    if (!this.send("confirm.answer", { confirm_id: card.id, decision })) {
      card.state.textContent = this.word("confirmLost");
      this.say(this.word("confirmLost"));
      return;
    }
    this.#waiting = card;
    card.decision = decision;
    card.state.textContent = this.word("sending");
    this.#disable(card, true);
  }

  #disable(card, disabled) {
    for (const each of Object.values(card.answers)) each.setAttribute("aria-disabled", String(disabled));
  }

  #reopen(card, sentence) {
    this.#waiting = null;
    card.decision = null;
    card.state.textContent = sentence;
    this.#disable(card, false);
  }

  #close(card, sentence) {
    if (card.closed) return;
    if (this.#waiting === card) this.#waiting = null;
    card.closed = true;
    card.timers.forEach(clearTimeout);
    const hadFocus = card.buttons.contains(document.activeElement);
    card.buttons.remove();
    card.state.textContent = sentence;
    card.element.classList.add("chat-closed");
    if (hadFocus) card.element.closest(".chat-item")?.focus({ preventScroll: true });
  }

  #expire(card, until, fresh) {
    const left = until - Date.now();
    if (!(left > 0)) {
      // A card that has only just come cannot be too late: this computer's clock is wrong, and the server decides.
      if (!fresh) this.#close(card, this.word("error_expired"));
      return;
    }
    card.state.textContent = this.word("confirmUntil", { time: hour(until) });
    const at = (wait, act) => wait > 0 && wait < LONGEST_WAIT && card.timers.push(setTimeout(act, wait));
    for (const seconds of WARN_AT) {
      at(left - seconds * 1_000, () => {
        card.state.textContent = this.word("confirmSoon", { n: seconds });
        this.say(this.word("confirmSoon", { n: seconds }));
      });
    }
    at(left, () => {
      if (this.#waiting === card) return; // it is on its way: the server decides
      this.#close(card, this.word("error_expired"));
      this.say(this.word("error_expired"));
    });
  }
}
