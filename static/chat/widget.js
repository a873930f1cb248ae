/** The chat on a page: builds it, connects it, and turns events into what people see. */

import { Announcer } from "./announcer.js";
import { CodeForm } from "./code.js";
import { Connection } from "./connection.js";
import { direction, h, icon } from "./dom.js";
import { IdleWatch } from "./idle.js";
import { Transcript } from "./transcript.js";
import { wordsIn } from "./words.js";

const SECRET = "pharmacy-chat";
const LONGEST_TEXT = 4_000;

// The secret lives as long as the tab, and no text of the chat is ever stored in the browser.
const store = {
  get: () => sessionStorage.getItem(SECRET),
  set: (secret) => sessionStorage.setItem(SECRET, secret),
  clear: () => {
    sessionStorage.removeItem(SECRET);
    sessionStorage.removeItem(IdleWatch.KEY);
  },
};

export class Chat {
  #lastText = "";
  #handoffs = []; // numbers that the page shows

  /**
   * @param {HTMLElement} root is filled with the chat
   * @param {{lang: "en"|"he", switchUrl?: string, url?: string}} options `switchUrl` is this page in the other language
   */
  constructor(root, { lang, switchUrl, url }) {
    this.root = root;
    this.lang = lang;
    this.word = wordsIn(lang);
    this.#build(switchUrl);
    this.announcer = new Announcer(this.live);
    this.transcript = new Transcript({
      view: this.view,
      list: this.list,
      jump: this.jump,
      word: this.word,
      lang,
      announcer: this.announcer,
      actions: {
        choose: (text) => this.#choose(text),
        retry: (id) => this.connection.retry(id),
      },
    });
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.connection = new Connection({
      url: url ?? `${scheme}//${location.host}/ws/chat/`,
      lang,
      store,
      onEvent: (event, fresh) => this.#on(event, fresh),
      onStatus: (status) => this.#status(status),
    });
    this.idle = new IdleWatch({ warn: () => this.#warnIdle(), end: () => this.end() });
    if (this.idle.over) store.clear();
    this.#watch();
    this.connection.open();
  }

  /** The secret of this conversation, or null before it has begun. */
  get secret() {
    return store.get();
  }

  ask(text) {
    const trimmed = text.trim();
    if (!trimmed) return;
    this.idle.touch();
    this.#lastText = trimmed;
    // The echo needs the id, and the socket may answer only after this turn of the event loop.
    this.transcript.echo(this.connection.send(trimmed), trimmed);
  }

  #build(switchUrl) {
    const { word, lang } = this;
    const other = lang === "he" ? "en" : "he";
    this.code = new CodeForm({
      word,
      send: (code) => this.connection.sendCode(code),
      leave: () => this.#focusComposer(),
    });
    this.live = h("div", { class: "chat-hidden", "aria-live": "polite", "aria-atomic": "true" });
    this.banner = h("p", { class: "chat-banner", role: "status", hidden: true });
    this.list = h("ol", { class: "chat-list" });
    this.view = h(
      "div",
      { class: "chat-log", role: "log", "aria-live": "off", "aria-label": word("log"), tabindex: "0" },
      h("div", { class: "chat-intro" }, h("p", {}, word("intro")), h("p", {}, word("introMore"))),
      this.list,
    );
    this.jump = h("button", { type: "button", class: "chat-jump", hidden: true }, word("newMessages"));
    this.person = h(
      "button",
      { type: "button", class: "chat-person", onclick: () => this.#askPerson() },
      icon("person"),
      h("span", {}, word("person")),
    );
    this.input = h("textarea", {
      id: "chat-input",
      rows: 1,
      dir: direction(lang),
      maxlength: LONGEST_TEXT,
      placeholder: word("placeholder"),
      enterkeyhint: "send",
      autocomplete: "off",
      "aria-describedby": "chat-hint",
      onkeydown: (event) => this.#key(event),
      oninput: () => this.#grow(),
    });
    const composer = h(
      "form",
      { class: "chat-composer", onsubmit: (event) => this.#submit(event) },
      h("label", { class: "chat-hidden", for: "chat-input" }, word("yourMessage")),
      this.input,
      h("button", { type: "submit", class: "chat-send" }, icon("send"), h("span", {}, word("send"))),
      h("p", { class: "chat-hint", id: "chat-hint" }, word("hint")),
    );
    this.root.append(
      h(
        "section",
        { class: "chat", lang, dir: direction(lang), "aria-labelledby": "chat-title" },
        h(
          "header",
          { class: "chat-head" },
          h("span", { class: "chat-mark" }, icon("cross")),
          h(
            "div",
            { class: "chat-name" },
            h("h2", { id: "chat-title" }, word("title")),
            h("p", { class: "chat-disclosure" }, word("disclosure")),
          ),
          switchUrl
            ? h("a", { class: "chat-switch", href: switchUrl, lang: other, hreflang: other }, word("switchTo"))
            : null,
        ),
        h(
          "div",
          { class: "chat-tools" },
          this.person,
          h(
            "button",
            { type: "button", class: "chat-end", onclick: () => this.end() },
            icon("clear"),
            h("span", {}, word("end")),
          ),
        ),
        this.banner,
        h("div", { class: "chat-middle" }, this.view, this.jump),
        this.code.element,
        composer,
        this.live,
      ),
    );
  }

  #watch() {
    const wake = () => document.visibilityState === "visible" && this.connection.wake();
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    window.addEventListener("offline", wake); // the socket decides: a page on this machine needs no network
    window.addEventListener("pageshow", (event) => event.persisted && this.idle.check());
    document.addEventListener("visibilitychange", () => this.idle.check());
    for (const kind of ["pointerdown", "keydown"]) this.root.addEventListener(kind, () => this.idle.touch());
    setInterval(() => this.idle.check(), 5_000);
  }

  // -- What comes from the server ---------------------------------------------------------------------------

  #on(event, fresh) {
    const { transcript } = this;
    const on = {
      "hello.ok": () => {
        const run = event.active_run?.run_id ?? event.active_run;
        transcript.forgetRuns(run);
        if (run) transcript.started(run);
        else transcript.begin(["start1", "start2", "start3"].map((key) => this.word(key)));
        this.#mode(event.mode);
      },
      "message.accepted": () => transcript.accepted(event.client_msg_id),
      "message.completed": () => {
        if (event.role === "user") this.#lastText = event.text ?? "";
        transcript.completed({ ...event, cards: this.#unshown(event.cards ?? []) }, fresh);
      },
      "message.delta": () => transcript.delta(event),
      "run.started": () => transcript.started(event.run_id),
      "run.completed": () => transcript.ended(event.run_id),
      "run.cancelled": () => this.#over(event, "run_cancelled", fresh),
      "run.failed": () => this.#over(event, "run_failed", fresh),
      "tool.started": () => transcript.toolStarted(event),
      "tool.finished": () => transcript.toolFinished(event),
      "identity.requested": () => this.#askCode(event, fresh),
      "identity.verified": () => {
        this.idle.begin();
        this.code.close();
        transcript.notice(this.word("verified"), { fresh });
      },
      "handoff.updated": () => this.#handoff(event, fresh),
      "mode.changed": () => this.#mode(event.mode, fresh),
      error: () => this.#error(event),
    }[event.type];
    on?.();
    if (fresh && Number.isInteger(event.seq)) this.idle.touch(); // a pong or a reconnection is nobody's doing
    this.root.dispatchEvent(new CustomEvent("chat", { detail: { type: event.type, fresh } }));
  }

  #over(event, key, fresh) {
    this.transcript.ended(event.run_id);
    const again = event.retryable && this.#lastText ? this.#lastText : "";
    this.transcript.notice(this.word(key), {
      fresh,
      action: again && this.word("tryAgain"),
      onaction: (click) => {
        click.currentTarget.remove();
        this.ask(again);
      },
    });
  }

  #error(event) {
    const { code, client_msg_id: id } = event;
    const sentence = this.word(`error_${code}`) || event.message || this.word("error_internal");
    if (code === "unknown_conversation") {
      this.transcript.clear({ keepEchoes: true });
      this.code.close();
    }
    if (["code_wrong", "code_expired", "locked"].includes(code)) this.#codeRefused(event, sentence);
    else if (id) this.transcript.refused(id, sentence, event.retryable);
    else this.transcript.notice(sentence);
    if (code === "rate_limited") this.#personAsked(false);
  }

  #askCode(event, fresh) {
    this.idle.begin();
    if (this.code.open(event.expires_at, fresh) && fresh) this.announcer.say(this.word("codeLabel"), this.lang);
  }

  #codeRefused(event, sentence) {
    this.transcript.accepted(event.client_msg_id); // a code that was typed as a message did arrive
    if (!this.code.refused(event)) this.transcript.notice(sentence);
  }

  #handoff(event, fresh) {
    const { word } = this;
    this.#personAsked(false);
    this.#handoffs.push(String(event.number));
    const rows = [
      [word("handoffNumber"), event.number],
      [word("handoffState"), word(`handoff_${event.state}`) || event.state],
    ].filter(([, content]) => content);
    this.transcript.addCard({ kind: "handoff", data: { title: word("handoff"), rows, note: event.message } }, fresh);
  }

  /** A hand-off has its own event, so an answer need not show its card a second time. */
  #unshown(cards) {
    const shown = ({ kind, data }) => kind === "handoff" && this.#handoffs.some((n) => JSON.stringify(data).includes(n));
    return cards.filter((each) => !shown(each));
  }

  #mode(mode, fresh = false) {
    this.mode = mode;
    this.#showBanner();
    const sentence = this.word(mode);
    if (fresh && sentence && !["bot", "degraded"].includes(mode)) this.transcript.notice(sentence);
  }

  #status(status) {
    this.root.dataset.status = status;
    if (status === "online" && !this.banner.hidden) this.announcer.say(this.word("connected"), this.lang);
    clearTimeout(this.bannerTimer);
    if (status === "online" || status === "stopped") this.#showBanner();
    // A first connection that is quick needs no banner.
    else this.bannerTimer = setTimeout(() => this.#showBanner(), status === "connecting" ? 2_000 : 300);
    if (status === "waiting") this.code.lineLost();
  }

  #showBanner() {
    const status = this.root.dataset.status;
    let sentence = "";
    if (status === "connecting" || status === "waiting") {
      sentence = this.word(navigator.onLine === false ? "offline" : "reconnecting");
    } else if (this.mode === "degraded") sentence = this.word("degraded");
    if (this.banner.textContent !== sentence) this.banner.textContent = sentence;
    this.banner.hidden = !sentence;
  }

  // -- What people do ---------------------------------------------------------------------------------------

  #key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  }

  #submit(event) {
    event.preventDefault();
    if (this.root.dataset.status === "stopped" || !this.input.value.trim()) return;
    this.ask(this.input.value);
    this.input.value = "";
    this.#grow();
    this.input.focus();
  }

  #grow() {
    this.input.rows = Math.min(5, this.input.value.split("\n").length);
    // "auto" would show the empty field's placeholder from left to right.
    this.input.dir = this.input.value ? "auto" : direction(this.lang);
  }

  #choose(text) {
    this.ask(text);
    this.#focusComposer();
  }

  /** Focus without opening a touch screen's keyboard. */
  #focusComposer() {
    (matchMedia("(pointer: coarse)").matches ? this.view : this.input).focus();
  }

  #askPerson() {
    if (this.person.getAttribute("aria-disabled") === "true") return;
    this.#personAsked(true);
    this.connection.requestHandoff();
    this.announcer.say(this.word("personAsked"), this.lang);
  }

  #personAsked(asked) {
    this.person.setAttribute("aria-disabled", String(asked));
    this.person.lastChild.textContent = this.word(asked ? "personAsked" : "person");
  }

  #warnIdle() {
    this.transcript.notice(this.word("stillThere"), {
      action: this.word("stay"),
      onaction: (click) => click.currentTarget.closest("li").remove(),
    });
  }

  /** Ends the chat: nothing of it stays on the page or in the browser. */
  end() {
    this.connection.restart();
    this.transcript.clear();
    this.code.close();
    this.#personAsked(false);
    this.#lastText = "";
    this.#handoffs = [];
    this.mode = "bot";
    this.transcript.notice(this.word("ended"));
    this.root.dispatchEvent(new CustomEvent("chat", { detail: { type: "ended", fresh: true } }));
    this.#focusComposer();
  }
}
