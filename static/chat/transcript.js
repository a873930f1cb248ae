/** The transcript: messages in order, the answer that is being written, its look-ups, cards and suggestions. */

import { card } from "./cards.js";
import { direction, h, paragraphs } from "./dom.js";
import { stepList } from "./steps.js";

const NEAR_END = 80; // pixels: closer than this the view follows new messages

export class Transcript {
  #echoes = new Map(); // client_msg_id → item of a message that the server has not numbered yet
  #runs = new Map(); // run_id → the answer in the making
  #chips = null;

  /**
   * @param {object} parts `view` scrolls, `list` holds the items, `jump` is the button "new messages"
   * @param {(key: string, values?: object) => string} word
   * @param {{choose(text: string): void, retry(id: string): void}} actions
   */
  constructor({ view, list, jump, word, lang, announcer, actions }) {
    Object.assign(this, { view, list, jump, word, lang, announcer, actions });
    this.following = true; // until the reader scrolls up
    jump.addEventListener("click", () => this.#toEnd());
    view.addEventListener("scroll", () => {
      this.following = this.#atEnd();
      if (this.following) jump.hidden = true;
    });
    // The code's field or a phone's keyboard may take part of the view.
    new ResizeObserver(() => this.following && this.#toEnd()).observe(view);
    view.addEventListener("keydown", (event) => this.#browse(event));
  }

  /** Empties the page of what was said; what was written and not yet sent stays when `keepEchoes`. */
  clear({ keepEchoes = false } = {}) {
    const kept = keepEchoes ? [...this.#echoes.values()] : [];
    if (!keepEchoes) this.#echoes.clear();
    this.#runs.clear();
    this.#dropChips();
    this.list.replaceChildren(...kept);
    this.jump.hidden = true;
    this.#busy();
  }

  /** The customer's words, shown before the server has them. */
  echo(id, text) {
    this.#dropChips();
    const item = this.#item("user", [
      h("p", { class: "chat-text", dir: "auto" }, text),
      h("p", { class: "chat-state" }, this.word("sending")),
    ]);
    this.#echoes.set(id, item);
    this.list.append(item);
    this.#toEnd();
  }

  /** The server has the message: it is kept now, whatever happens to the line. */
  accepted(id) {
    this.#echoes.get(id)?.querySelector(".chat-state")?.remove();
  }

  /** The server refused the message; `retryable` offers to send it again. */
  refused(id, reason, retryable) {
    const state = this.#echoes.get(id)?.querySelector(".chat-state");
    if (!state) return this.notice(reason);
    const sentence = `${this.word("notSent")} ${reason}`;
    const again = () => {
      state.classList.remove("chat-failed");
      state.replaceChildren(this.word("sending"));
      this.actions.retry(id);
    };
    state.classList.add("chat-failed");
    state.replaceChildren(
      sentence,
      retryable ? h("button", { type: "button", class: "chat-plain", onclick: again }, this.word("tryAgain")) : "",
    );
    this.announcer.say(sentence, this.lang);
  }

  /** A finished message of anybody; `fresh` ones are announced. */
  completed(event, fresh) {
    const { role, run_id: run, client_msg_id: id } = event;
    const lang = event.lang === "he" || event.lang === "en" ? event.lang : null;
    const text = event.text ?? "";
    if (role === "user") {
      this.#echoes.get(id)?.remove();
      this.#echoes.delete(id);
      this.#dropChips();
      this.#append(this.#item("user", [h("p", { class: "chat-text", dir: "auto", lang }, text)]));
      this.#scroll();
      return;
    }
    const cards = (event.cards ?? []).map((each) => card(each, lang)).filter(Boolean);
    const live = this.#runs.get(run);
    if (live) this.#runs.delete(run);
    const steps = live?.steps ?? stepList((event.tools ?? []).map((tool) => ({ ...tool, finished: true })), this.word, this.lang);
    const item = this.#item(
      role,
      [h("div", { class: "chat-text" }, paragraphs(text, lang)), ...cards, steps],
      { lang, dir: direction(lang) },
    );
    live?.item.remove();
    this.#append(item);
    this.#dropChips();
    if (event.suggestions?.length) this.#showChips(event.suggestions);
    this.#busy();
    if (fresh) {
      const titles = cards.map((each) => each.getAttribute("aria-label")).filter(Boolean);
      this.announcer.say([`${this.word(role)}: ${text}`, ...titles].join(". "), lang ?? this.lang);
      this.#toStart(item);
    } else this.#scroll();
  }

  started(run) {
    if (!run || this.#runs.has(run)) return this.#runs.get(run);
    const text = h("div", { class: "chat-text", hidden: true });
    const doing = h("span", {}, this.word("thinking"));
    const progress = h("p", { class: "chat-progress" }, doing, h("span", { class: "chat-dots", "aria-hidden": "true" }));
    const live = { text, doing, progress, said: [], calls: [], steps: null };
    live.item = this.#item("assistant", [text, progress]);
    this.#runs.set(run, live);
    this.#append(live.item);
    this.#busy();
    this.#scroll();
    return live;
  }

  toolStarted(event) {
    const live = this.started(event.run_id);
    if (!live) return;
    const label = (event.label ?? "").replace(/(…|\.\.\.)$/, ""); // the dots are ours, and they move
    live.doing.replaceChildren(h("bdi", {}, label || this.word("thinking")));
    live.calls.push({ ...event, label });
    this.#showSteps(live);
  }

  toolFinished(event) {
    const live = this.#runs.get(event.run_id);
    const call = live?.calls.find((each) => each.call_id === event.call_id);
    if (!call) return;
    Object.assign(call, { finished: true, ok: event.ok, duration_ms: event.duration_ms });
    this.#showSteps(live);
  }

  /** Text that streams in; `offset` counts characters, and what overlaps is replaced. */
  delta({ run_id: run, offset, text }) {
    const live = this.started(run);
    if (!live || offset > live.said.length) return; // a part was missed: the finished message has it all
    live.said = [...live.said.slice(0, offset), ...text];
    const said = live.said.join("");
    const lang = /[\u05d0-\u05ea]/.test(said) ? "he" : "en";
    live.text.setAttribute("dir", direction(lang));
    live.text.setAttribute("lang", lang);
    live.text.replaceChildren(...paragraphs(said, lang));
    live.text.hidden = false;
    this.#scroll();
  }

  /** The run is over; if it left no message, its place is cleared. */
  ended(run) {
    this.#runs.get(run)?.item.remove();
    this.#runs.delete(run);
    this.#busy();
  }

  /** Runs of a lost connection: their answers come by replay. */
  forgetRuns(except) {
    for (const run of [...this.#runs.keys()]) if (run !== except) this.ended(run);
  }

  /** A sentence of the system, with a button where something can be done. */
  notice(text, { action, onaction, fresh = true } = {}) {
    const button = action ? h("button", { type: "button", class: "chat-plain", onclick: onaction }, action) : null;
    this.#append(this.#item("system", [h("p", { class: "chat-text" }, text), button]));
    if (fresh) this.announcer.say(text, this.lang);
    this.#scroll();
  }

  addCard(content, fresh) {
    const element = card(content);
    if (!element) return;
    this.#append(this.#item("system", [element]));
    if (fresh) this.announcer.say(element.innerText.replaceAll("\n", ". "), this.lang);
    this.#scroll();
  }

  #item(role, parts, attributes = {}) {
    return h(
      "li",
      { class: `chat-item chat-${role}`, tabindex: "-1" },
      h("h3", { class: "chat-hidden" }, this.word(role)),
      h("div", { class: "chat-bubble", ...attributes }, parts),
    );
  }

  /** Numbered items come before answers in the making and unnumbered echoes. */
  #append(item) {
    const answers = new Set([...this.#runs.values()].map((live) => live.item));
    const echoes = [...this.#echoes.values()];
    // An answer may begin before its question has come back with its number, never before it was accepted.
    const behind = answers.has(item)
      ? new Set(echoes.filter((echo) => echo.querySelector(".chat-state")))
      : new Set([...echoes, ...answers]);
    const next = [...this.list.children].find((child) => behind.has(child));
    this.list.insertBefore(item, next ?? null);
  }

  #showSteps(live) {
    const open = live.steps?.open;
    const steps = stepList(live.calls, this.word, this.lang);
    steps.open = Boolean(open);
    if (live.steps) live.steps.replaceWith(steps);
    else live.progress.after(steps);
    live.steps = steps;
    this.#scroll();
  }

  /** Questions to begin with, while nothing has been said. */
  begin(questions) {
    if (!this.list.childElementCount && !this.#chips) this.#showChips(questions);
  }

  #showChips(suggestions) {
    const texts = suggestions.map((each) => (typeof each === "string" ? each : each?.text)).filter(Boolean);
    this.#chips = h(
      "ul",
      { class: "chat-chips", "aria-label": this.word("suggestions") },
      texts.map((text) =>
        h("li", {}, h("button", { type: "button", dir: "auto", onclick: () => this.actions.choose(text) }, text)),
      ),
    );
    this.list.after(this.#chips);
  }

  #dropChips() {
    this.#chips?.remove();
    this.#chips = null;
  }

  #busy() {
    this.view.setAttribute("aria-busy", String(this.#runs.size > 0));
  }

  #atEnd() {
    return this.view.scrollHeight - this.view.scrollTop - this.view.clientHeight < NEAR_END;
  }

  #scroll() {
    if (this.following) this.#toEnd();
    else this.jump.hidden = false;
  }

  /** A new answer is read from its beginning, also one that is longer than the view. */
  #toStart(item) {
    if (!this.following) return this.#scroll();
    this.#toEnd();
    const hidden = this.view.getBoundingClientRect().top - item.getBoundingClientRect().top;
    if (hidden > 0) this.view.scrollTop -= hidden + 8;
  }

  #toEnd() {
    this.following = true;
    this.jump.hidden = true;
    this.view.scrollTop = this.view.scrollHeight;
  }

  /** Up, Down, Home and End go from message to message; Escape goes back to the transcript. */
  #browse(event) {
    const items = [...this.list.children];
    const at = items.indexOf(document.activeElement);
    if (document.activeElement !== this.view && at < 0) {
      if (event.key === "Escape" && this.view.contains(document.activeElement)) this.view.focus();
      return;
    }
    const target = {
      ArrowUp: items[at < 0 ? items.length - 1 : Math.max(0, at - 1)],
      ArrowDown: items[at < 0 ? items.length - 1 : Math.min(items.length - 1, at + 1)],
      Home: items[0],
      End: items.at(-1),
      Escape: this.view,
    }[event.key];
    if (!target) return;
    event.preventDefault();
    target.focus();
  }
}
