/** Where people write: the field, "send", and "stop" while an answer is in the making. */

import { direction, h, icon } from "./dom.js";

const LONGEST_TEXT = 4_000;
const MOST_LINES = 5;

export class Composer {
  /**
   * `send(text)` and `cancel()` return whether they could; `instead()` is the element that has the focus where the field
   * would open a touch screen's keyboard.
   */
  constructor({ word, send, cancel, instead }) {
    Object.assign(this, { word, send, cancel, instead });
    this.input = h("textarea", {
      id: "chat-input",
      rows: 1,
      dir: direction(word.lang),
      maxlength: LONGEST_TEXT,
      placeholder: word("placeholder"),
      enterkeyhint: "send",
      autocomplete: "off",
      "aria-describedby": "chat-hint",
      onkeydown: (event) => this.#key(event),
      oninput: () => this.#grow(),
    });
    this.stop = h(
      "button",
      { type: "button", class: "chat-stop", hidden: true, onclick: () => this.#stop() },
      icon("stop"),
      h("span", {}, word("stop")),
    );
    this.element = h(
      "form",
      { class: "chat-composer", onsubmit: (event) => this.#submit(event) },
      h("label", { class: "chat-hidden", for: "chat-input" }, word("yourMessage")),
      this.input,
      this.stop,
      h("button", { type: "submit", class: "chat-send" }, icon("send"), h("span", {}, word("send"))),
      h("p", { class: "chat-hint", id: "chat-hint" }, word("hint")),
    );
  }

  /** Focus without opening a touch screen's keyboard. */
  focus() {
    (matchMedia("(pointer: coarse)").matches ? this.instead() : this.input).focus({ preventScroll: true });
  }

  /** Whether an answer is in the making that can be stopped. */
  busy(busy) {
    if (busy === !this.stop.hidden) return;
    if (!busy && this.stop === document.activeElement) this.focus();
    this.stop.hidden = !busy;
    this.#stopping(false);
  }

  #key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.element.requestSubmit();
  }

  #submit(event) {
    event.preventDefault();
    if (!this.input.value.trim() || !this.send(this.input.value)) return;
    this.input.value = "";
    this.#grow();
    this.input.focus();
  }

  #grow() {
    this.input.rows = Math.min(MOST_LINES, this.input.value.split("\n").length);
    // "auto" would show the empty field's placeholder from left to right.
    this.input.dir = this.input.value ? "auto" : direction(this.word.lang);
  }

  #stop() {
    if (this.stop.getAttribute("aria-disabled") !== "true" && this.cancel()) this.#stopping(true);
  }

  #stopping(stopping) {
    this.stop.setAttribute("aria-disabled", String(stopping));
    this.stop.lastChild.textContent = this.word(stopping ? "stopping" : "stop");
  }
}
