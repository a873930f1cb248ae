/** The transcript: messages in order, with their cards, times and states, and suggestions after the last. */

import { Answers, stepList } from "./answers.js";
import { Browsing } from "./browse.js";
import { dateAndHour, direction, h, hour, icon, paragraphs, typedNodes, wholeNodes } from "./dom.js";

const NEAR_END = 80; // pixels: closer than this the view follows new messages

export class Transcript {
  #echoes = new Map(); // client_msg_id → item of a message that the server has not numbered yet
  #handoffs = new Map(); // number → item of the card that tells of it
  #question = null; // a card that came just before the answer which it belongs under; `always`: of a hand-off
  #chips = null;
  #online = true;
  #refused = new Map(); // item of a message that the server refused → what sends it again, oldest first
  #unread = null; // the first item that came while the reader was further up

  /**
   * @param {object} parts `view` scrolls, `list` holds the items, `jump` is the button "new messages"
   * @param {object} actions `choose(text)` a suggestion, `retry(id)` a refused message, `busy(yes)` while answers are in
   *   the making; `card(content, lang)`, `calls(event)`, `locate(event)` and `extras(event)` give the elements of a
   *   card, of the numbers to call, of the question for the location and of what is shown under an answer
   */
  constructor({ view, list, jump, word, lang, announcer, actions, debug = false }) {
    Object.assign(this, { view, list, jump, word, lang, announcer, actions, debug });
    this.answers = new Answers({
      word,
      lang,
      debug,
      place: (parts) => this.#append(this.#item("assistant", parts), { live: true }),
      grown: () => this.grown(),
      busy: (busy) => {
        view.setAttribute("aria-busy", String(busy));
        actions.busy(busy);
      },
    });
    this.following = true; // until the reader scrolls up
    jump.addEventListener("click", () => this.#toUnread());
    view.addEventListener("scroll", () => {
      this.following = this.#atEnd();
      if (this.following) this.#read();
    });
    // The code's field or a phone's keyboard may take part of the view.
    new ResizeObserver(() => this.following && this.toEnd()).observe(view);
    new Browsing(view, list);
  }

  /** Empties the page of what was said; what was written and not yet sent stays when `keepEchoes`. */
  clear({ keepEchoes = false } = {}) {
    if (!keepEchoes) this.#echoes.clear();
    this.answers.clear();
    this.#handoffs.clear();
    this.#refused.clear();
    this.#question = null;
    this.#dropChips();
    this.list.replaceChildren(...this.#echoes.values());
    this.#read();
  }

  /** The customer's words, shown before the server has them. */
  echo(id, text) {
    this.#dropChips();
    const item = this.#item("user", [h("p", { class: "chat-text", dir: "auto" }, typedNodes(text))], {
      meta: [h("span", { class: "chat-state" }, this.word(this.#online ? "sending" : "waiting"))],
    });
    this.#echoes.set(id, item);
    this.list.append(item);
    this.toEnd();
  }

  /** Whether there is a connection: messages that are not sent yet say what they wait for. */
  online(online) {
    this.#online = online;
    for (const item of this.#echoes.values()) {
      const state = item.querySelector(".chat-state");
      if (!("sent" in item.dataset) && !this.#refused.has(item)) state.textContent = this.word(online ? "sending" : "waiting");
    }
  }

  /** The server has stored the message, so a lost connection does not matter. */
  accepted(id) {
    const item = this.#echoes.get(id);
    if (!item) return;
    item.dataset.sent = "";
    item.querySelector(".chat-meta").replaceChildren(...this.#sent(new Date()));
  }

  /** The server refused the message; `retryable` offers to send it again. */
  refused(id, reason, retryable) {
    const item = this.#echoes.get(id);
    if (!item || "sent" in item.dataset) return this.notice(reason);
    const state = item.querySelector(".chat-state");
    const sentence = `${this.word("notSent")} ${reason}`;
    const again = () => {
      this.#refused.delete(item);
      state.classList.remove("chat-failed");
      state.replaceChildren(this.word(this.#online ? "sending" : "waiting"));
      this.actions.retry(id);
    };
    if (retryable) {
      // One reason and one button are enough for all: the last message has them.
      for (const earlier of this.#refused.keys()) earlier.querySelector(".chat-state").replaceChildren(this.word("notSent"));
      this.#refused.set(item, again);
    }
    const all = () => {
      item.focus({ preventScroll: true });
      for (const each of [...this.#refused.values()]) each();
    };
    state.classList.add("chat-failed");
    state.replaceChildren(
      sentence,
      retryable ? h("button", { type: "button", class: "chat-plain", onclick: all }, this.word("tryAgain")) : "",
    );
    this.announcer.say(sentence, this.lang);
    this.grown();
  }

  /** A finished message of anybody, said at `event.at` if that is known; `fresh` ones are announced. */
  completed(event, fresh) {
    const { role, at } = event;
    const lang = event.lang === "he" || event.lang === "en" ? event.lang : null;
    const text = event.text ?? "";
    if (role === "user") return this.#said(event, lang, text, fresh);
    const cards = (event.cards ?? []).filter((each) => !this.#shown(each)).map((each) => this.actions.card(each, lang)).filter(Boolean);
    const live = this.answers.finish(event.run_id);
    const tools = event.tools?.map((tool) => ({ ...tool, finished: true })) ?? live?.calls ?? [];
    const steps = stepList(tools, this.word, this.lang, { at, debug: this.debug });
    if (steps) steps.open = Boolean(live?.steps?.open);
    const focused = live?.item.contains(document.activeElement) ? document.activeElement : null;
    const content = [
      this.#author(event),
      h("div", { class: "chat-text" }, paragraphs(text, lang)),
      this.actions.calls(event),
      ...cards,
      this.actions.locate(event),
      h("div", { class: "chat-foot" }, steps, at ? h("p", { class: "chat-meta" }, this.#time(at)) : null, this.actions.extras(event)),
    ];
    const speaker = this.#speaker(event);
    const item = this.#item(role, content, { lang, at, speaker });
    live?.item.remove();
    const question = role === "assistant" && (this.#question?.always || !event.confirm_id) ? this.#question : null;
    if (question) question.item.before(item);
    else this.#append(item);
    this.#question = null;
    if (focused) (item.contains(focused) ? focused : item).focus({ preventScroll: true });
    this.#dropChips();
    if (event.suggestions?.length) this.#showChips(event.suggestions);
    if (!fresh) return this.grown();
    const titles = cards.map((each) => each.getAttribute("aria-label")).filter(Boolean);
    this.announcer.say([`${speaker}: ${text}`, ...titles].join(". "), lang ?? this.lang);
    if (question?.spoken) this.announcer.say(question.spoken, this.lang);
    this.#toStart(item);
  }

  /** A sentence of the system, with a button where something can be done; returns its item, null for one that is there already. */
  notice(text, { action, onaction, fresh = true } = {}) {
    const last = this.list.lastElementChild;
    if (!action && last?.matches(".chat-system") && last.querySelector(".chat-text")?.textContent === text) return null;
    const button = action ? h("button", { type: "button", class: "chat-plain", onclick: onaction }, action) : null;
    const item = this.#item("system", [h("p", { class: "chat-text" }, wholeNodes(text)), button]);
    this.#place(item, fresh);
    if (fresh) this.announcer.say(text, this.lang);
    return item;
  }

  /** An element of its own between the messages. */
  add(element, { fresh, spoken, lang = this.lang }) {
    const item = this.#item("system", [element]);
    this.#place(item, fresh);
    if (fresh) this.announcer.say(spoken, lang);
    return item;
  }

  /** A card with a question. The answer that explains it follows, and is to be read first. */
  ask(element, { fresh, spoken }) {
    const explained = this.answers.items.length > 0;
    const item = this.add(element, { fresh: fresh && !explained, spoken });
    this.#question = { item, spoken: fresh && explained ? spoken : "" };
    const answer = this.answers.items.at(-1);
    if (answer) answer.after(item);
    this.grown();
  }

  /** The newest state of a hand-off: one card for each number. */
  handoff(number, content, lang, fresh, below = null) {
    const element = this.actions.card(content, lang);
    if (!element) return;
    const earlier = this.#handoffs.get(number);
    const focused = earlier?.contains(document.activeElement);
    earlier?.remove();
    const spoken = [...element.querySelectorAll("p, dt, dd")].map((each) => each.textContent).join(". ");
    const item = this.add(element, { fresh, spoken, lang });
    if (below) item.querySelector(".chat-bubble").append(below);
    this.#handoffs.set(number, item);
    if (!earlier) {
      this.#question = { item, spoken: "", always: true };
      this.answers.items.at(-1)?.after(item);
    }
    this.grown();
    if (focused) item.focus({ preventScroll: true });
  }

  /** The card of a hand-off has other words; it stays where it is. */
  handoffChanged(number, content, lang) {
    this.#handoffs.get(number)?.querySelector(".chat-card").replaceWith(this.actions.card(content, lang));
    this.grown();
  }

  /** Something in it takes more room now: stays at the end, unless the reader has scrolled up. */
  grown() {
    if (this.following) this.toEnd();
    else this.jump.hidden = !this.#unread;
  }

  /** Questions to begin with, while nothing has been said. */
  begin(questions) {
    if (!this.list.childElementCount && !this.#chips) this.#showChips(questions);
  }

  /** A hand-off has its own event, so an answer need not show its card a second time. */
  #shown({ kind, data }) {
    return kind === "handoff" && [...this.#handoffs.keys()].some((number) => JSON.stringify(data).includes(number));
  }

  #said({ client_msg_id: id, at }, lang, text, fresh) {
    const echo = this.#echoes.get(id);
    this.#echoes.delete(id);
    this.#question = null;
    const focused = echo?.contains(document.activeElement);
    echo?.remove();
    this.#dropChips();
    const meta = fresh ? this.#sent(at) : at ? [this.#time(at)] : [];
    const item = this.#item("user", [h("p", { class: "chat-text", dir: "auto", lang }, typedNodes(text))], { at, meta });
    this.#place(item, false);
    if (focused) item.focus({ preventScroll: true });
  }

  /** Who says it, for those who hear it: of staff with name and role. */
  #speaker({ role, author, author_role: post }) {
    if (role !== "staff") return this.word(role);
    return [author, this.word(`role_${post}`) || this.word("staff")].filter(Boolean).join(", ");
  }

  /** The line above a person's message with name and role, and above what the assistant says while a person has the chat. */
  #author({ role, author, author_role: post, automatic }) {
    const line = (...parts) => h("p", { class: "chat-author", lang: this.lang, dir: direction(this.lang) }, parts);
    if (role === "staff") {
      const name = author ? [h("bdi", {}, h("b", {}, author)), " · "] : [];
      return line(icon("person"), ...name, this.word(`role_${post}`) || this.word("staff"));
    }
    return role === "assistant" && automatic ? line(this.word("automatic")) : null;
  }

  #sent(at) {
    return [this.#time(at), h("span", { class: "chat-state" }, icon("check"), this.word("sent"))];
  }

  #time(at) {
    const today = at.toDateString() === new Date().toDateString();
    return h("time", { datetime: at.toISOString() }, today ? hour(at) : dateAndHour(at));
  }

  #item(role, parts, { lang, at, meta, speaker = this.word(role) } = {}) {
    return h(
      "li",
      { class: `chat-item chat-${role}`, tabindex: "-1", "data-speaker": role === "staff" ? speaker : null },
      h("h3", { class: "chat-hidden" }, at ? `${speaker}, ${hour(at)}` : speaker),
      h("div", { class: "chat-bubble", lang, dir: lang ? direction(lang) : null }, parts),
      meta ? h("p", { class: "chat-meta" }, meta) : null,
    );
  }

  #place(item, fresh) {
    this.#append(item);
    if (fresh && !this.following) this.#unread ??= item;
    this.grown();
  }

  /** Numbered items come before answers in the making and unnumbered echoes. */
  #append(item, { live = false } = {}) {
    const answers = this.answers?.items ?? [];
    const echoes = [...this.#echoes.values()];
    // An answer may begin before its question has come back with its number, never before it was accepted.
    const behind = new Set(live ? echoes.filter((echo) => !("sent" in echo.dataset)) : [...echoes, ...answers]);
    const next = [...this.list.children].find((child) => behind.has(child));
    this.list.insertBefore(item, next ?? null);
    return item;
  }

  #showChips(suggestions) {
    const texts = suggestions.map((each) => (typeof each === "string" ? each : each?.text)).filter(Boolean);
    this.#chips = h(
      "ul",
      { class: "chat-chips", "aria-label": this.word("suggestions") },
      texts.map((text) =>
        h("li", {}, h("button", { type: "button", dir: "auto", onclick: () => this.actions.choose(text) }, wholeNodes(text))),
      ),
    );
    this.list.after(this.#chips);
  }

  #dropChips() {
    if (this.#chips?.contains(document.activeElement)) this.view.focus({ preventScroll: true });
    this.#chips?.remove();
    this.#chips = null;
  }

  #atEnd() {
    return this.view.scrollHeight - this.view.scrollTop - this.view.clientHeight < NEAR_END;
  }

  #read() {
    this.#unread = null;
    this.jump.hidden = true;
  }

  /** A new answer is read from its beginning, also one that is longer than the view. */
  #toStart(item) {
    if (!this.following) {
      this.#unread ??= item;
      return this.grown();
    }
    this.toEnd();
    const hidden = this.view.getBoundingClientRect().top - item.getBoundingClientRect().top;
    if (hidden > 0) this.view.scrollTop -= hidden + 8;
  }

  #toUnread() {
    const item = this.#unread ?? this.list.lastElementChild;
    this.#read();
    if (!item) return;
    item.focus({ preventScroll: true });
    this.view.scrollTop += item.getBoundingClientRect().top - this.view.getBoundingClientRect().top - 8;
    this.following = this.#atEnd();
  }

  /** Shows the newest, and stays there. */
  toEnd() {
    this.following = true;
    this.#read();
    this.view.scrollTop = this.view.scrollHeight;
  }
}
