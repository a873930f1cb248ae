/** The field under a hand-off's card in which somebody who is not identified leaves an e-mail address for the reply. */

import { direction, h } from "./dom.js";

export class ContactForms {
  #sent = null; // the form whose address is on its way

  /** `send(type, fields)` returns whether there was a connection. */
  constructor({ send, say }) {
    Object.assign(this, { send, say });
  }

  /** The form of a hand-off, in the words of its card. */
  form(number, word) {
    const id = `chat-contact-${number}`;
    const problem = h("p", { class: "chat-code-error", id: `${id}-error`, hidden: true });
    const input = h("input", { id, type: "email", autocomplete: "email", dir: "ltr", maxlength: 254, "aria-describedby": problem.id });
    const form = h(
      "form",
      { class: "chat-contact", lang: word.lang, dir: direction(word.lang), novalidate: true },
      h("label", { for: id }, word("contactLabel")),
      h("div", { class: "chat-code-row" }, input, h("button", { type: "submit", class: "chat-plain" }, word("contactSend"))),
      problem,
    );
    form.refuse = (sentence) => {
      problem.textContent = sentence;
      problem.hidden = false;
      input.setAttribute("aria-invalid", "true");
      input.focus();
      form.scrollIntoView({ block: "nearest" });
      this.say(sentence, word.lang);
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const email = input.value.trim();
      if (!input.checkValidity() || !email) return form.refuse(word("error_email_invalid"));
      if (!this.send("handoff.contact", { number, email })) return form.refuse(word("notNowOffline"));
      this.#sent = form;
    });
    return form;
  }

  /** The server refused the address; false when none was on its way. */
  refused(sentence) {
    const form = this.#sent;
    this.#sent = null;
    if (!form?.isConnected) return false;
    form.refuse(sentence);
    return true;
  }

  saved() {
    this.#sent = null;
  }
}
