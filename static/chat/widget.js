/** The chat on a page: builds it, connects it, and turns events into what people see. */

import { Announcer } from "./announcer.js";
import { Banner } from "./banner.js";
import { card } from "./cards.js";
import { CodeForm } from "./code.js";
import { Composer } from "./composer.js";
import { Confirmations } from "./confirm.js";
import { Connection } from "./connection.js";
import { ContactForms } from "./contact.js";
import { Feedback } from "./feedback.js";
import { Handoffs } from "./handoffs.js";
import { Refills } from "./refills.js";
import { Handover } from "./handover.js";
import { layout } from "./layout.js";
import { beginQuestion, eraseQuestion, Menu, privacyNotice, Sheet } from "./overlays.js";
import { download } from "./record.js";
import { IdleWatch, store } from "./store.js";
import { calls, newButton, PersonButton, Place } from "./tools.js";
import { Transcript } from "./transcript.js";
import { wordsIn } from "./words.js";

export class Chat {
  #lastText = "";
  #unread = 0;
  #veiled = false; // a message of staff is hidden until its patient is identified
  #erasing = false; // this page asked for the deletion and has no answer yet
  #erased = false;

  /**
   * Fills `root` with the chat in a language ("en" or "he"). `switchUrl` is the page in the other one, `url` the
   * socket's address. With `frame` the chat is all of a page and is closed, by its button or Escape, through
   * `onclose()`; `site` is the public id of the embedding site and `ticket()` promises a ticket of it, one for each
   * connection; `handoverTicket` opens a conversation that began in a frame; `onunread(n)` counts the answers since
   * the chat was last used.
   */
  constructor(root, { lang, switchUrl, url, frame = false, onclose, site, ticket, handoverTicket, onunread }) {
    Object.assign(this, { root, lang, frame, onclose, onunread, word: wordsIn(lang), days: null });
    // Staff and developers see the calls behind an answer.
    this.debug = "debug" in root.dataset || new URLSearchParams(location.search).has("debug");
    this.#build(switchUrl);
    if (site) store.key += site;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.connection = new Connection({
      url: url ?? `${scheme}//${location.host}/ws/chat/`,
      lang,
      store,
      site,
      ticket,
      handoverTicket,
      shown: () => this.transcript.answers.shown,
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
    if (this.#erased) this.#beginAgain();
    this.idle.touch();
    this.#lastText = trimmed;
    // The echo needs the id, and the socket may answer only after this turn of the event loop.
    this.transcript.echo(this.connection.send(trimmed), trimmed);
  }

  /** The chat came into view: the focus goes to the composer, and nothing is unread any more. */
  focus() {
    this.#used();
    this.composer.focus();
  }

  /** Ends the chat: nothing of it stays on the page or in the browser. */
  end() {
    this.connection.restart();
    this.#clear();
    this.transcript.notice(this.word("ended"));
    this.#tell({ type: "ended", fresh: true });
    this.composer.focus();
  }

  #build(switchUrl) {
    const { word, lang } = this;
    const send = (type, fields) => this.connection.sendNow(type, fields);
    const say = (sentence) => this.announcer.say(sentence, lang);
    this.banner = new Banner(word);
    this.person = new PersonButton({ word, ask: () => this.#askPerson() });
    this.composer = new Composer({
      word,
      send: (text) => this.#send(text),
      cancel: () => send("run.cancel"),
      instead: () => this.title,
    });
    this.code = new CodeForm({ word, send: (code) => send("identity.code", { code }), leave: () => this.composer.focus() });
    this.confirmations = new Confirmations({
      word,
      send: (type, fields) => {
        const sent = send(type, fields);
        if (sent) this.transcript.toEnd();
        return sent;
      },
      say,
    });
    this.feedback = new Feedback({ word, send, say, grown: () => this.transcript.grown() });
    this.handover = new Handover({ word, send, say });
    this.menu = new Menu({
      word,
      entries: [
        ["download", () => download(this.list, word)],
        ["privacy", () => this.sheet.open(privacyNotice(word, this.days))],
        ["end", () => this.end()],
        ["erase", () => this.sheet.open(eraseQuestion(word, () => this.#erase()))],
        ["placeStop", () => this.place.stop()],
      ],
      resize: (percent) => (this.section.dataset.size = percent),
    });
    this.place = new Place({
      word,
      share: (location) => (this.connection.location = location),
      tell: (sentence) => this.transcript.notice(sentence),
      mark: (shared) => this.#located(shared),
    });
    this.menu.offer("placeStop", false);
    this.contacts = new ContactForms({ send, say: (sentence, lang) => this.announcer.say(sentence, lang) });
    this.handoffs = new Handoffs({
      show: (...card) => this.transcript.handoff(...card),
      change: (...card) => this.transcript.handoffChanged(...card),
      say: (sentence, lang) => this.announcer.say(sentence, lang),
      form: (...given) => this.contacts.form(...given),
    });
    this.refills = new Refills({
      word,
      show: (...card) => this.transcript.handoff(...card),
      notice: (...line) => this.transcript.notice(...line),
      choose: (text) => this.#choose(text),
    });
    Object.assign(
      this,
      layout({
        word,
        switchUrl,
        frame: this.frame,
        onclose: () => this.onclose?.(),
        parts: {
          menu: this.menu.element,
          person: this.person.element,
          fresh: newButton(word, () => this.#askNew()),
          banner: this.banner.element,
          code: this.code.element,
          composer: this.composer.element,
        },
      }),
    );
    this.root.append(this.section);
    this.sheet = new Sheet(this.section);
    this.announcer = new Announcer(this.live);
    this.transcript = new Transcript({
      view: this.view,
      list: this.list,
      jump: this.jump,
      word,
      lang,
      debug: this.debug,
      announcer: this.announcer,
      actions: {
        choose: (text) => this.#choose(text),
        retry: (id) => this.connection.retry(id),
        card: (content, lang) => this.#card(content, lang),
        locate: ({ locate, lang: said = lang }) =>
          locate ? this.place.button(said, () => this.#choose(wordsIn(said)("placeQuestion"))) : null,
        calls: ({ phones }) => (phones?.length ? calls(phones, word) : null),
        extras: ({ role, seq, phones, tools, factual = tools?.length > 0 }) =>
          role === "assistant" && Number.isInteger(seq) && factual && !phones?.length ? this.feedback.add(seq) : null,
        busy: (busy) => this.composer.busy(busy),
      },
    });
  }

  #watch() {
    const wake = () => document.visibilityState === "visible" && this.connection.wake();
    window.addEventListener("online", () => this.connection.wake({ redial: true }));
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("offline", wake); // the socket decides: a page on this machine needs no network
    window.addEventListener("pageshow", (event) => event.persisted && this.idle.check());
    document.addEventListener("visibilitychange", () => this.idle.check());
    for (const kind of ["pointerdown", "keydown", "focusin"]) this.root.addEventListener(kind, () => this.#used());
    if (this.frame) {
      document.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && !event.defaultPrevented) this.onclose?.();
      });
    }
    setInterval(() => this.idle.check(), 5_000);
  }

  // -- What comes from the server ---------------------------------------------------------------------------

  #on(event, fresh) {
    const { transcript, confirmations, feedback } = this;
    const { answers } = transcript;
    const on = {
      "hello.ok": () => this.#welcome(event, fresh),
      "message.accepted": () => transcript.accepted(event.client_msg_id),
      "message.completed": () => this.#completed(event, fresh),
      "message.delta": () => answers.delta(event),
      "run.started": () => answers.started(event),
      "run.completed": () => answers.ended(event.run_id),
      "run.cancelled": () => this.#over(event, "run_cancelled", fresh),
      "run.failed": () => this.#over(event, "run_failed", fresh),
      "tool.started": () => answers.toolStarted(event),
      "tool.finished": () => answers.toolFinished(event),
      "identity.requested": () => this.#askCode(event, fresh),
      "identity.verified": () => {
        this.idle.begin();
        this.code.close();
        transcript.notice(this.word("verified"), { fresh });
        if (fresh && this.#veiled) this.#unveil();
      },
      "confirm.requested": () => this.#confirm(event, fresh),
      "confirm.closed": () => confirmations.ended(event),
      "feedback.saved": () => feedback.saved(event),
      "handoff.updated": () => this.#handoff(event, fresh),
      "refill.updated": () => this.refills.updated(event, fresh),
      "handoff.queue": () => this.handoffs.moved(event, fresh),
      "handover.ready": () => this.handover.ready(event),
      "mode.changed": () => this.#mode(event.mode),
      "conversation.deleted": () => this.#gone("erased"),
      "conversation.moved": () => this.#gone("moved"),
      error: () => this.#error(event),
    }[event.type];
    on?.();
    if (fresh && Number.isInteger(event.seq)) this.idle.touch(); // a pong or a reconnection is nobody's doing
    this.#tell({ type: event.type, fresh, asks: event.asks });
  }

  #welcome(event, fresh) {
    const run = event.active_run?.run_id ?? null;
    this.transcript.answers.resume(run);
    if (!run) {
      this.confirmations.notTaken();
      this.transcript.begin(["start1", "start2", "start3"].map((key) => this.word(key)));
    }
    this.days = event.retention_days ?? null;
    if (this.days) this.consent.textContent = this.word("consent", { days: this.days });
    for (const { seq, rating } of event.feedback ?? []) this.feedback.kept(seq, rating);
    this.#mode(event.mode);
    for (const place of event.queue ?? []) this.handoffs.moved(place, fresh);
    // Shared on this page before it was loaded again: it can be taken back.
    if (event.located) this.#located(true);
  }

  #completed(event, fresh) {
    const { role, text, confirm_id: confirmed, decision } = event;
    if (event.veiled && role === "staff") this.#veiled = true;
    const at = event.at ? new Date(event.at) : fresh ? new Date() : null;
    if (role === "user") this.#lastText = text ?? "";
    if (role === "user" && fresh) this.refills.touched();
    if (confirmed) this.confirmations.answered(confirmed, decision);
    this.transcript.completed({ ...event, at }, fresh);
    if (fresh && ["assistant", "staff"].includes(role)) this.onunread?.((this.#unread += 1));
  }

  #mode(mode) {
    this.banner.mode(mode);
    this.transcript.answers.quiet(mode === "human");
  }

  /** Whoever it was written to is identified now: reads the conversation again, with what was hidden. */
  #unveil() {
    this.#forget({ keepEchoes: true });
    this.#veiled = false;
    this.connection.again();
  }

  #card(content, lang) {
    const { kind, data } = content ?? {};
    return this.connection.elsewhere && kind === "identity" && data?.action === "continue" ? this.handover.card(data, lang ?? undefined) : card(content, lang, (text) => this.#choose(text));
  }

  #over(event, key, fresh) {
    this.transcript.answers.ended(event.run_id);
    this.confirmations.notTaken();
    const again = event.retryable && this.#lastText ? this.#lastText : "";
    this.transcript.notice(this.word(key), {
      fresh,
      action: again && this.word("tryAgain"),
      onaction: (click) => {
        click.currentTarget.remove();
        this.#choose(again);
      },
    });
  }

  #error(event) {
    const { code, client_msg_id: id } = event;
    // The server's own sentence says when to come back.
    const timed = event.retry_after ? event.message : "";
    const sentence = timed || this.word(`error_${code}`) || event.message || this.word("error_internal");
    if (code === "unknown_conversation") {
      this.#forget({ keepEchoes: true });
      if (this.#erasing) {
        this.#erasing = false;
        return this.transcript.notice(this.word("erased"));
      }
    }
    if (["code_wrong", "code_expired", "locked"].includes(code)) this.#codeRefused(event, sentence);
    else if (code === "email_invalid" && this.contacts.refused(sentence)) return;
    else if (id) this.transcript.refused(id, sentence, event.retryable);
    else if (!this.confirmations.refused(event) && !this.feedback.refused() && !this.handover.refused(sentence)) this.transcript.notice(sentence);
    if (code === "rate_limited") this.person.asked(false);
  }

  #askCode(event, fresh) {
    this.idle.begin();
    if (this.code.open(event.expires_at, fresh, event.asks) && fresh) this.announcer.say(this.code.title, this.lang);
  }

  #codeRefused(event, sentence) {
    this.transcript.accepted(event.client_msg_id); // a code that was typed as a message did arrive
    if (!this.code.refused(event)) this.transcript.notice(this.code.sentence(event.code) ?? sentence);
  }

  #confirm(event, fresh) {
    const element = this.confirmations.add(event, fresh);
    this.transcript.ask(element, { fresh, spoken: this.confirmations.spoken(event) });
  }

  #handoff(event, fresh) {
    this.person.asked(false);
    this.contacts.saved();
    this.handoffs.updated(event, fresh);
  }

  #gone(key) {
    this.#clear();
    this.#erased = true;
    this.transcript.notice(this.word(key), { action: this.word("begin"), onaction: () => this.#beginAgain() });
    this.#tell({ type: "ended", fresh: true });
  }

  #status(status) {
    this.root.dataset.status = status;
    if (status === "online" && this.banner.offline) this.announcer.say(this.word("connected"), this.lang);
    this.banner.status(status);
    this.transcript.online(status === "online" || status === "connecting");
    if (status === "waiting") {
      this.code.lineLost();
      this.feedback.lineLost();
    }
  }

  #tell(detail) {
    this.root.dispatchEvent(new CustomEvent("chat", { detail }));
  }

  // -- What people do ---------------------------------------------------------------------------------------

  #used() {
    this.idle.touch();
    if (this.#unread) this.onunread?.((this.#unread = 0));
  }

  #send(text) {
    const possible = this.root.dataset.status !== "stopped" || this.#erased;
    if (possible) this.ask(text);
    return possible;
  }

  #choose(text) {
    this.ask(text);
    this.composer.focus();
  }

  #askPerson() {
    if (this.#erased) this.#beginAgain();
    this.connection.requestHandoff();
    this.transcript.toEnd();
    this.announcer.say(this.word("personAsked"), this.lang);
  }

  #erase() {
    this.#erasing = this.connection.sendNow("conversation.delete");
    if (!this.#erasing) this.transcript.notice(this.word("notNowOffline"));
  }

  #askNew() {
    if (!this.list.childElementCount) return this.composer.focus();
    this.sheet.open(beginQuestion(this.word, () => this.#beginAgain()));
  }

  /** Shows whether the location is shared: then no answer asks for it, and the menu takes it back. */
  #located(shared) {
    this.section.toggleAttribute("data-located", shared);
    this.menu.offer("placeStop", shared);
  }

  #beginAgain() {
    this.connection.restart();
    this.#clear();
    this.composer.focus();
  }

  #warnIdle() {
    this.transcript.notice(this.word("stillThere"), {
      action: this.word("stay"),
      onaction: (click) => {
        click.currentTarget.closest("li").remove();
        this.composer.focus();
      },
    });
  }

  /** Nothing of what was said stays on the page. */
  #clear() {
    this.#forget();
    this.place.reset();
    this.person.asked(false);
    this.#lastText = "";
    this.#erasing = this.#erased = this.#veiled = false;
    this.#mode("bot");
  }

  #forget(options) {
    this.sheet.close();
    this.transcript.clear(options);
    this.confirmations.clear();
    this.feedback.clear();
    this.handoffs.clear();
    this.refills.clear();
    this.handover.clear();
    this.code.close();
  }
}
