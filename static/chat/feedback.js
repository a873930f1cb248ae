/** Thumbs for an answer and, for one that did not help, a word on why. */

import { h, icon } from "./dom.js";

const LONGEST_COMMENT = 1_000;

export class Feedback {
  #rows = new Map(); // seq → the thumbs of that answer
  #waiting = []; // rows whose rating the server has not stored yet, in order

  /** `grown` is called when a form needs more room. */
  constructor({ word, send, say, grown }) {
    Object.assign(this, { word, send, say, grown });
  }

  /** The thumbs of the answer with this number. */
  add(seq) {
    const row = { seq, kept: 0, commented: false };
    const thumb = (rating, key) =>
      h(
        "button",
        { type: "button", class: `chat-thumb chat-thumb-${key}`, "aria-pressed": "false", title: this.word(key), onclick: () => this.#rate(row, rating) },
        icon("up"),
        h("span", { class: "chat-hidden" }, this.word(key)),
      );
    row.thumbs = new Map([[1, thumb(1, "helpful")], [-1, thumb(-1, "unhelpful")]]);
    row.told = h("span", { class: "chat-thumb-told" });
    row.form = null;
    row.element = h(
      "div",
      { class: "chat-feedback", role: "group", "aria-label": this.word("feedback") },
      h("div", { class: "chat-thumbs" }, row.told, ...row.thumbs.values()),
    );
    this.#rows.set(seq, row);
    return row.element;
  }

  /** A rating of an earlier visit. */
  kept(seq, rating) {
    const row = this.#rows.get(seq);
    if (!row) return;
    row.kept = rating;
    this.#press(row, rating);
  }

  saved({ seq, rating }) {
    this.#waiting = this.#waiting.filter((row) => row.seq !== seq);
    const row = this.#rows.get(seq);
    if (!row) return;
    row.kept = rating;
    this.#press(row, rating);
    if (rating === 1 || row.commented) this.#closeForm(row);
    row.told.textContent = this.word("feedbackSaved");
    this.say(this.word("feedbackSaved"));
  }

  /** The server refused, or the connection is lost: back to the stored rating. Returns whether a rating was waiting. */
  refused() {
    const row = this.#waiting.shift();
    if (!row) return false;
    this.#failed(row);
    return true;
  }

  lineLost() {
    while (this.refused());
  }

  clear() {
    this.#rows.clear();
    this.#waiting = [];
  }

  #rate(row, rating) {
    if (rating !== row.kept && !this.#send(row, { rating })) return;
    if (rating === -1 && !row.commented) this.#openForm(row);
    else this.#closeForm(row);
  }

  #send(row, fields) {
    if (!this.send("feedback", { seq: row.seq, ...fields })) {
      this.#failed(row);
      return false;
    }
    this.#waiting.push(row);
    row.told.textContent = "";
    this.#press(row, fields.rating);
    return true;
  }

  #failed(row) {
    row.commented = false;
    this.#press(row, row.kept);
    row.told.textContent = this.word("feedbackFailed");
    this.say(this.word("feedbackFailed"));
  }

  #press(row, rating) {
    for (const [value, thumb] of row.thumbs) thumb.setAttribute("aria-pressed", String(value === rating));
  }

  #openForm(row) {
    if (row.form) return;
    const id = `chat-why-${row.seq}`;
    const text = h("textarea", { id, rows: 2, dir: "auto", maxlength: LONGEST_COMMENT });
    const submit = (event) => {
      event.preventDefault();
      const comment = text.value.trim();
      if (!comment) return this.#closeForm(row);
      row.commented = this.#send(row, { rating: -1, comment });
    };
    row.form = h(
      "form",
      { class: "chat-why", onsubmit: submit },
      h("label", { for: id }, this.word("feedbackWhy")),
      text,
      h(
        "div",
        { class: "chat-why-row" },
        h("button", { type: "submit", class: "chat-plain" }, this.word("send")),
        h("button", { type: "button", class: "chat-plain", onclick: () => this.#closeForm(row) }, this.word("notNow")),
      ),
    );
    row.element.append(row.form);
    this.grown();
  }

  #closeForm(row) {
    if (!row.form) return;
    const hadFocus = row.form.contains(document.activeElement);
    row.form.remove();
    row.form = null;
    if (hadFocus) row.thumbs.get(-1).focus({ preventScroll: true });
  }
}
