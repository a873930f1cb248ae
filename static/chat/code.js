/** The field for a one-time code: when it is shown, what went wrong, when it is hidden. */

import { h, hour } from "./dom.js";
import { counted } from "./words.js";

export class CodeForm {
  #sent = false;

  /**
   * @param {(code: string) => boolean} options.send returns false without a connection: a code is never stored for later
   * @param {() => void} options.leave puts the focus elsewhere when the field goes away
   */
  constructor({ word, send, leave }) {
    Object.assign(this, { word, send, leave });
    this.input = h("input", {
      id: "chat-code",
      inputmode: "numeric",
      autocomplete: "one-time-code",
      maxlength: 12,
      dir: "ltr",
      "aria-describedby": "chat-code-help chat-code-error",
    });
    this.help = h("p", { id: "chat-code-help", class: "chat-code-help" });
    this.error = h("p", { id: "chat-code-error", class: "chat-code-error", role: "alert" });
    this.element = h(
      "form",
      { class: "chat-code", hidden: true, novalidate: true, onsubmit: (event) => this.#submit(event) },
      h("label", { for: "chat-code" }, word("codeLabel")),
      h("div", { class: "chat-code-row" }, this.input, h("button", { type: "submit" }, word("codeSend"))),
      this.error,
      this.help,
    );
  }

  /** Asks for a code; in a replay only while it can still be used. Returns whether the field is there. */
  open(expiresAt, fresh) {
    this.close();
    const until = new Date(expiresAt);
    if (!fresh && until < Date.now()) return false;
    this.help.textContent = this.word("codeHelp", { time: hour(until) });
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
    this.#problem(Number.isInteger(left) ? counted(this.word, "tries", left) : this.word("error_code_wrong"));
    return true;
  }

  /** Nobody knows whether a code that was on its way has arrived. */
  lineLost() {
    if (this.#sent) this.error.textContent = this.word("codeLost");
    this.#sent = false;
  }

  #submit(event) {
    event.preventDefault();
    const code = this.input.value.trim();
    if (!code) return this.#problem(this.word("codeEmpty"));
    this.input.removeAttribute("aria-invalid");
    this.error.textContent = "";
    this.#sent = this.send(code);
    if (!this.#sent) this.#problem(this.word("codeLost"));
  }

  #problem(sentence) {
    this.error.textContent = sentence;
    this.input.setAttribute("aria-invalid", "true");
    this.input.select();
    this.input.focus();
  }
}
