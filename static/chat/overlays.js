/** What lies over the chat for a while: its menu, a question, a notice. */

import { h, icon } from "./dom.js";

const SIZES = [100, 125, 150]; // percent

/** The menu in the head: a button that opens a list of things to do with the conversation. */
export class Menu {
  /**
   * @param {[key: string, act: () => void][]} options.entries
   * @param {(percent: number) => void} options.resize
   */
  constructor({ word, entries, resize }) {
    this.button = h(
      "button",
      { type: "button", class: "chat-head-button", "aria-expanded": "false", "aria-controls": "chat-menu", title: word("menu"), onclick: () => this.#toggle() },
      icon("menu"),
      h("span", { class: "chat-hidden" }, word("menu")),
    );
    const choose = (act) => () => {
      this.close();
      act();
    };
    const entry = ([key, act]) => h("li", { "data-key": key }, h("button", { type: "button", onclick: choose(act) }, word(key)));
    const size = (percent) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(percent === 100), onclick: (event) => this.#resized(event.currentTarget, percent, resize) },
        h("bdi", { dir: "ltr" }, `${percent}%`),
      );
    this.sizes = h("div", { class: "chat-sizes", role: "group", "aria-labelledby": "chat-size" }, SIZES.map(size));
    this.panel = h(
      "div",
      { class: "chat-menu", id: "chat-menu", hidden: true },
      h("ul", { "aria-label": word("menu") }, entries.map(entry)),
      h("p", { id: "chat-size" }, word("textSize")),
      this.sizes,
    );
    this.element = h("div", { class: "chat-menu-place", onkeydown: (event) => this.#key(event) }, this.button, this.panel);
    this.element.addEventListener("focusout", ({ relatedTarget: to }) => {
      if (to && !this.element.contains(to)) this.#show(false);
    });
    document.addEventListener("pointerdown", ({ target }) => this.element.contains(target) || this.#show(false));
  }

  /** Closes and gives the focus back to the button. */
  close() {
    this.#show(false);
    this.button.focus();
  }

  /** Whether the entry of this key is there. */
  offer(key, offered) {
    this.panel.querySelector(`[data-key="${key}"]`).hidden = !offered;
  }

  #toggle() {
    this.#show(this.panel.hidden);
  }

  #show(open) {
    if (open !== this.panel.hidden) return;
    this.panel.hidden = !open;
    cover(this.element.closest(".chat"), open, this.element);
    this.button.setAttribute("aria-expanded", String(open));
  }

  #resized(pressed, percent, resize) {
    for (const each of this.sizes.children) each.setAttribute("aria-pressed", String(each === pressed));
    resize(percent);
  }

  #key(event) {
    if (event.key === "Escape" && !this.panel.hidden) {
      event.preventDefault();
      return this.close();
    }
    const buttons = [...this.panel.querySelectorAll("li:not([hidden]) button, .chat-sizes button")];
    const at = buttons.indexOf(document.activeElement);
    const target = {
      ArrowDown: at + 1,
      ArrowUp: at < 0 ? -1 : at - 1,
      Home: at < 0 ? null : 0,
      End: at < 0 ? null : -1,
    }[event.key];
    if (target === undefined || target === null) return;
    event.preventDefault();
    this.#show(true);
    buttons.at(target % buttons.length).focus();
  }
}

/** Puts the parts of the chat out of reach while something lies over them; the live region goes on speaking. */
function cover(chat, covered, over) {
  for (const part of chat.children) {
    if (!part.contains(over) && !part.hasAttribute("aria-live")) part.inert = covered;
  }
}

/** A small dialogue, for a question or a notice; the page around the chat stays in reach. */
export class Sheet {
  #before = null;

  /** @param {HTMLElement} chat the section that it covers */
  constructor(chat) {
    this.chat = chat;
    this.element = null;
  }

  /**
   * @param {object} content
   * @param {string} content.title
   * @param {string[]} content.paragraphs
   * @param {{label: string, act?: () => void, kind?: string}[]} content.answers each closes the sheet; the first has the focus
   * @param {boolean} [content.question] it has to be answered
   */
  open({ title, paragraphs, answers, question = false }) {
    this.close();
    this.#before = document.activeElement;
    const buttons = answers.map(({ label, act, kind = "chat-plain" }) =>
      h("button", { type: "button", class: kind, onclick: () => this.#answer(act) }, label),
    );
    this.element = h(
      "div",
      { class: "chat-cover", onkeydown: (event) => this.#key(event) },
      h(
        "div",
        { class: "chat-sheet", role: question ? "alertdialog" : "dialog", "aria-labelledby": "chat-sheet-title", "aria-describedby": "chat-sheet-text" },
        h("h2", { id: "chat-sheet-title" }, title),
        h("div", { id: "chat-sheet-text" }, paragraphs.map((each) => h("p", {}, each))),
        h("div", { class: "chat-sheet-answers" }, buttons),
      ),
    );
    this.chat.append(this.element);
    cover(this.chat, true, this.element);
    buttons[0].focus({ preventScroll: true });
  }

  close() {
    if (!this.element) return;
    this.element.remove();
    this.element = null;
    cover(this.chat, false, null);
    this.#before?.focus();
  }

  #answer(act) {
    this.close();
    act?.();
  }

  #key(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    this.close();
  }
}

/** The notice on privacy; `days` is how long conversations are stored, if the server has said so. */
export function privacyNotice(word, days) {
  const kept = days ? [word("consent", { days })] : [];
  return {
    title: word("privacy"),
    paragraphs: [word("intro"), ...kept, word("privacyHere"), word("privacyErase")],
    answers: [{ label: word("ok"), kind: "chat-main" }],
  };
}

/** Whether to leave this chat for a new one. */
export function beginQuestion(word, begin) {
  return {
    title: word("begin"),
    paragraphs: [word("beginAsk")],
    answers: [{ label: word("beginNo") }, { label: word("beginYes"), kind: "chat-main", act: begin }],
    question: true,
  };
}

/** The harmless answer comes first and has the focus. */
export function eraseQuestion(word, erase) {
  return {
    title: word("erase"),
    paragraphs: [word("eraseAsk")],
    answers: [{ label: word("eraseNo") }, { label: word("eraseYes"), kind: "chat-danger", act: erase }],
    question: true,
  };
}
