/** The field for a one-time code or a date of birth: when it is shown, what went wrong, when it is hidden. */

import { h, hour } from "./dom.js";
import { counted } from "./words.js";

export class CodeForm {
  #sent = false;
  #kind = "code"; // how the keys of its words begin

  /**
   * @param {(code: string) => boolean} options.send returns false without a connection: a code is never stored for later
   * @param {() => void} options.leave puts the focus elsewhere when the field goes away
   */
  constructor({ word, send, leave }) {
    Object.assign(this, { word, send, leave });
    this.input = h("input", {
      id: "chat-code",
      dir: "ltr",
      "aria-describedby": "chat-code-help chat-code-error",
    });
    this.label = h("label", { for: "chat-code" });
    this.help = h("p", { id: "chat-code-help", class: "chat-code-help" });
    this.error = h("p", { id: "chat-code-error", class: "chat-code-error", role: "alert" });
    this.element = h(
      "form",
      { class: "chat-code", hidden: true, novalidate: true, onsubmit: (event) => this.#submit(event) },
      this.label,
      h("div", { class: "chat-code-row" }, this.input, h("button", { type: "submit" }, word("codeSend"))),
      this.error,
      this.help,
    );
  }

  get title() {
    return this.word(`${this.#kind}Label`);
  }

  /** Asks for what `asks` names; in a replay only while it can still be used. Returns whether the field is there. */
  open(expiresAt, fresh, asks) {
    this.close();
    this.#kind = asks === "date_of_birth" ? "birth" : "code";
    const until = new Date(expiresAt);
    if (!fresh && until < Date.now()) return false;
    const isCode = this.#kind === "code";
    this.input.inputMode = isCode ? "numeric" : "text";
    this.input.autocomplete = isCode ? "one-time-code" : "bday";
    this.input.maxLength = isCode ? 12 : 40;
    this.input.dir = isCode ? "ltr" : "auto";
    this.element.dataset.asks = this.#kind;
    this.label.textContent = this.title;
    this.help.textContent = this.#word("Help", { time: hour(until) });
    this.element.hidden = false;
    return true;
  }

  close() {
    const hadFocus = this.element.contains(document.activeElement);
    this.#sent = false;
    this.element.hidden = true;
    this.input.value = "";
    this.input.removeAttribute("aria-invalid");
    this.error.textContent = "";
    if (hadFocus) this.leave();
  }

  /** The server refused a code; returns whether the field itself shows that. */
  refused({ code, tries_left: left }) {
    this.#sent = false;
    if (code !== "code_wrong" || left === 0) {
      this.close();
      return false;
    }
    if (this.element.hidden) return false;
    this.#problem(Number.isInteger(left) ? counted(this.word, `${this.#kind}Tries`, left) : this.#word("Unread"));
    return true;
  }

  /** Nobody knows whether a code that was on its way has arrived. */
  lineLost() {
    if (this.#sent) this.error.textContent = this.#word("Lost");
    this.#sent = false;
  }

  #submit(event) {
    event.preventDefault();
    const code = this.input.value.trim();
    if (!code) return this.#problem(this.#word("Empty"));
    this.input.removeAttribute("aria-invalid");
    this.error.textContent = "";
    this.#sent = this.send(code);
    if (!this.#sent) this.#problem(this.#word("Lost"));
  }

  /** The sentence for an error that the field does not show itself, or undefined. */
  sentence(code) {
    return this.word(`${this.#kind}_${code}`) || undefined;
  }

  #word(key, values) {
    return this.word(`${this.#kind}${key}`, values);
  }

  #problem(sentence) {
    this.error.textContent = sentence;
    this.input.setAttribute("aria-invalid", "true");
    this.input.select();
    this.input.focus();
  }
}
