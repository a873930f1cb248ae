/**
 * The chat's WebSocket protocol, without any page: connects, says hello, keeps events in order,
 * keeps what was written until the server has it, and comes back after a lost connection.
 *
 * Numbered events reach `onEvent` once each and in order; all others as they come.
 */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const HELLO_WITHIN = 10_000;
const PING_EVERY = 25_000;
const PONG_WITHIN = 8_000;
const RESTART_WITHIN = 500;
const FRAME_ERRORS = new Set(["too_large", "too_long", "bad_frame"]);
const QUOTING = new Set(["message.accepted", "feedback.saved"]); // their `seq` is that of another event
const CLOSED = { restart: 1012, forbidden: 4403, deleted: 4410, flooded: 4429 };

/** A random UUID; `crypto.randomUUID` is missing where a page is served over plain HTTP from another machine. */
function uuid() {
  const digit = (d) => (d ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (d / 4)))).toString(16);
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, digit);
}

export class Connection {
  #socket = null;
  #ready = false;
  #stopped = false;
  #attempt = 0;
  #greeted = false;
  #handoffWaits = false;
  #pause = 0; // ms that the server's last error asks us to stay away if it closes the socket
  #outbox = new Map(); // client_msg_id → frame, in the order of writing, until the server has it
  #refused = new Map(); // client_msg_id → frame that may be sent again by hand
  #retryTimer = 0;
  #helloTimer = 0;
  #pingTimer = 0;
  #pongTimer = 0;

  /**
   * `store` keeps the secret (get, set, clear). `onEvent(event, fresh)` gets each event, not fresh in a replay after a
   * reload; `onStatus` "connecting", "online", "waiting" or "stopped". `shown()` is the answer that is half on the page,
   * {run_id, attempt, offset in characters}, or null. `site`, `ticket` and `handoverTicket` are those of `Chat`.
   */
  constructor({ url, lang, store, onEvent, onStatus, shown, site, ticket, handoverTicket }) {
    Object.assign(this, { url, lang, store, onEvent, onStatus, shown, site, ticket, handoverTicket });
    this.lastSeq = 0;
    this.location = undefined; // {lat, lng} while the customer shares it, null once it was taken back
  }

  open() {
    if (this.#socket || this.#stopped) return;
    clearTimeout(this.#retryTimer);
    this.onStatus(this.#attempt ? "waiting" : "connecting");
    if (!this.ticket) return this.#dial({});
    // Fetched before the socket opens: a server waits only so long for a hello.
    const place = { close() {} };
    this.#socket = place;
    this.ticket().then(
      (ticket) => place === this.#socket && this.#dial({ site: this.site, ticket }),
      () => this.#lost(place),
    );
  }

  #dial(admission) {
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    this.#helloTimer = setTimeout(() => this.#lost(socket), HELLO_WITHIN);
    socket.addEventListener("open", () => this.#write({ type: "hello", lang: this.lang, ...this.#claim(), ...admission }));
    socket.addEventListener("message", (message) => {
      if (socket === this.#socket) this.#receive(message.data);
    });
    socket.addEventListener("close", (event) => this.#closed(socket, event.code));
  }

  /** What a hello says of the conversation it comes for. */
  #claim() {
    if (this.handoverTicket) return { ticket: this.handoverTicket };
    const conversation = this.store.get();
    if (!conversation) return {};
    const shown = this.shown();
    return { conversation, last_seq: this.lastSeq, ...(shown ? { active_run: shown } : {}) };
  }

  /** Reads the whole conversation anew, because more of it may be seen now. */
  again() {
    this.lastSeq = 0;
    this.#greeted = false;
    this.#lost(this.#socket, 0);
  }

  /** The page came back to the front, or the network did (`redial`): find out at once whether the socket lives. */
  wake({ redial = false } = {}) {
    if (this.#stopped) return;
    if (!this.#socket) this.open();
    else if (this.#ready) this.#ping(redial ? 1_500 : 3_000);
    // Dialled on a network that was not there, a socket may hang for minutes.
    else if (redial) this.#lost(this.#socket, 0);
  }

  /** Sends a message, now or when the connection is back, and returns its id. */
  send(text) {
    const id = uuid();
    // Half a surrogate pair (a cut emoji) is no text that a server could store.
    this.#queue(id, { type: "message.send", client_msg_id: id, text: text.toWellFormed?.() ?? text });
    return id;
  }

  /** Sends a refused message again, under the same id. */
  retry(id) {
    const frame = this.#refused.get(id);
    this.#refused.delete(id);
    if (frame) this.#queue(id, frame);
  }

  /** Sends what is never stored for later: a code costs a try, a yes has an effect. Returns false without a connection. */
  sendNow(type, fields = {}) {
    if (this.#ready) this.#write({ type, ...fields });
    return this.#ready;
  }

  requestHandoff() {
    if (!this.sendNow("handoff.request")) this.#handoffWaits = true;
  }

  /** Forgets the conversation here and begins a new one. */
  restart() {
    this.#forget();
    this.#stopped = false;
    this.#attempt = 0;
    this.#lost(this.#socket, 0);
  }

  /** Forgets the conversation here and stays away. */
  stop() {
    this.#forget();
    this.#stop();
  }

  #stop() {
    this.#stopped = true;
    this.#lost(this.#socket);
    this.onStatus("stopped");
  }

  #forget() {
    this.#unknown();
    this.#outbox.clear();
    this.#refused.clear();
    this.#handoffWaits = false;
    this.location = undefined;
  }

  #unknown() {
    this.store.clear();
    this.lastSeq = 0;
    this.#greeted = false;
  }

  #deleted() {
    if (this.#stopped) return;
    this.stop();
    this.onEvent({ type: "conversation.deleted" }, true);
  }

  #forbidden() {
    this.#stop();
    this.onEvent({ type: "error", code: "forbidden_origin" }, true);
  }

  #queue(id, frame) {
    this.#outbox.set(id, frame);
    if (this.#ready) this.#writeMessage(frame);
    else this.wake();
  }

  /** The location is that of the moment of sending: one that was taken back does not go out any more. */
  #writeMessage(frame) {
    this.#write({ ...frame, location: this.location });
  }

  #write(frame) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ v: 1, ...frame }));
  }

  #closed(socket, code) {
    if (socket !== this.#socket) return;
    if (code === CLOSED.deleted) this.#deleted();
    else if (code === CLOSED.forbidden) this.#forbidden();
    else if (code === CLOSED.flooded) this.#lost(socket, Math.max(this.#pause, FIRST_WAIT) * (1 + Math.random() / 4));
    // Jitter, so that a restarted server does not get everybody back in the same instant.
    else this.#lost(socket, code === CLOSED.restart ? Math.random() * RESTART_WITHIN : undefined);
  }

  #lost(socket, wait) {
    if (socket !== this.#socket) return;
    for (const timer of [this.#helloTimer, this.#pongTimer, this.#retryTimer]) clearTimeout(timer);
    clearInterval(this.#pingTimer);
    this.#socket = null;
    this.#ready = false;
    // Closed while it opens, a socket is an error of the page; who stays away can wait until it is open.
    if (this.#stopped && socket?.readyState === WebSocket.CONNECTING) socket.addEventListener("open", () => socket.close());
    else socket?.close();
    if (this.#stopped) return;
    const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#attempt);
    this.#attempt += 1;
    this.onStatus("waiting");
    this.#retryTimer = setTimeout(() => this.open(), wait ?? longest * (0.5 + Math.random() / 2));
  }

  #ping(within) {
    this.#write({ type: "ping" });
    const socket = this.#socket;
    clearTimeout(this.#pongTimer);
    this.#pongTimer = setTimeout(() => this.#lost(socket, 0), within);
  }

  #receive(data) {
    clearTimeout(this.#pongTimer); // whatever came proves that the line is alive
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      return;
    }
    if (!event || typeof event.type !== "string") return;
    if (event.type === "hello.ok") this.#welcome(event);
    else if (event.type === "error") this.#failed(event);
    else if (event.type === "conversation.deleted") this.#deleted();
    else if (event.type === "conversation.moved") {
      this.stop();
      this.onEvent(event, true);
    }
    else if (this.#ready) this.#deliver(event, true);
  }

  #welcome(event) {
    clearTimeout(this.#helloTimer);
    const fresh = this.#greeted;
    this.#greeted = this.#ready = true;
    this.#attempt = 0;
    this.handoverTicket = null;
    this.elsewhere = event.identity !== "here"; // people are identified in a window of our own
    this.store.set(event.conversation);
    this.onStatus("online");
    for (const missed of event.events ?? []) {
      // A hole inside a replay is all the server has: going on beats asking for ever.
      this.lastSeq = Math.max(this.lastSeq, (missed.seq ?? 0) - 1);
      this.#deliver(missed, fresh);
    }
    this.onEvent(event, fresh);
    for (const frame of this.#outbox.values()) this.#writeMessage(frame);
    if (this.#handoffWaits) this.#write({ type: "handoff.request" });
    this.#handoffWaits = false;
    this.#pingTimer = setInterval(() => this.#ping(PONG_WITHIN), PING_EVERY);
  }

  #deliver(event, fresh) {
    // Every event with a number of its own counts, also of a kind that this version does not know.
    if (Number.isInteger(event.seq) && !QUOTING.has(event.type)) {
      if (event.seq <= this.lastSeq) return;
      if (event.seq > this.lastSeq + 1) {
        this.#lost(this.#socket, 0); // something was missed: the next hello asks for it
        return;
      }
      this.lastSeq = event.seq;
    }
    if (event.client_msg_id) this.#outbox.delete(event.client_msg_id);
    this.onEvent(event, fresh);
  }

  #failed(event) {
    this.#pause = (event.retry_after ?? 0) * 1000;
    if (this.handoverTicket && !this.#ready && event.code !== "busy") {
      this.handoverTicket = null; // too late or used up: a conversation of this window's own is left
      this.onEvent({ ...event, code: "expired" }, true);
      this.#lost(this.#socket, 0);
      return;
    }
    if (event.code === "forbidden_origin") return this.#forbidden();
    if (event.code === "unknown_conversation") {
      this.#unknown();
      this.onEvent(event, true);
      this.#lost(this.#socket, 0);
      return;
    }
    // A frame that could not be read has no id: it was the oldest one that is still on its way.
    const id = event.client_msg_id ?? (FRAME_ERRORS.has(event.code) ? this.#outbox.keys().next().value : undefined);
    const frame = this.#outbox.get(id);
    if (frame) {
      this.#outbox.delete(id);
      if (event.retryable) this.#refused.set(id, frame);
    }
    this.onEvent({ ...event, client_msg_id: id }, true);
  }
}
