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
const FRAME_ERRORS = new Set(["too_large", "too_long", "bad_frame"]);

/** A random UUID; `randomUUID` is missing where a page is served over plain HTTP from another machine. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export class Connection {
  #socket = null;
  #ready = false;
  #stopped = false;
  #attempt = 0;
  #greeted = false;
  #handoffWaits = false;
  #outbox = new Map(); // client_msg_id → frame, in the order of writing, until the server has it
  #refused = new Map(); // client_msg_id → frame that may be sent again by hand
  #retryTimer = 0;
  #helloTimer = 0;
  #pingTimer = 0;
  #pongTimer = 0;

  /**
   * @param {object} options
   * @param {string} options.url address of the socket
   * @param {"en"|"he"} options.lang language of the page
   * @param {{get(): string|null, set(secret: string): void, clear(): void}} options.store keeps the secret
   * @param {(event: object, fresh: boolean) => void} options.onEvent `fresh` is false for a replay after a reload
   * @param {(status: "connecting"|"online"|"waiting"|"stopped") => void} options.onStatus
   */
  constructor({ url, lang, store, onEvent, onStatus }) {
    Object.assign(this, { url, lang, store, onEvent, onStatus, lastSeq: 0 });
  }

  get online() {
    return this.#ready;
  }

  open() {
    if (this.#socket || this.#stopped) return;
    clearTimeout(this.#retryTimer);
    this.onStatus(this.#attempt ? "waiting" : "connecting");
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    this.#helloTimer = setTimeout(() => this.#lost(socket), HELLO_WITHIN);
    socket.addEventListener("open", () => {
      const conversation = this.store.get();
      const resume = conversation ? { conversation, last_seq: this.lastSeq } : {};
      this.#write({ type: "hello", lang: this.lang, ...resume });
    });
    socket.addEventListener("message", (message) => {
      if (socket === this.#socket) this.#receive(message.data);
    });
    socket.addEventListener("close", () => this.#lost(socket));
  }

  /** The page came back to the front, or the network changed: find out at once whether the socket lives. */
  wake() {
    if (this.#stopped) return;
    if (!this.#socket) this.open();
    else if (this.#ready) this.#ping(3_000);
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
    return Boolean(frame);
  }

  /** A code is not safe to repeat (each costs a try), so it is never kept for later. */
  sendCode(code) {
    if (this.#ready) this.#write({ type: "identity.code", code });
    return this.#ready;
  }

  requestHandoff() {
    if (this.#ready) this.#write({ type: "handoff.request" });
    else this.#handoffWaits = true;
  }

  /** Forgets the conversation here and begins a new one. */
  restart() {
    this.#forget();
    this.#outbox.clear();
    this.#refused.clear();
    this.#handoffWaits = false;
    this.#stopped = false;
    this.#attempt = 0;
    this.#lost(this.#socket, 0);
  }

  /** Forgets the conversation here and stays away. */
  stop() {
    this.#forget();
    this.#stopped = true;
    this.#lost(this.#socket);
    this.onStatus("stopped");
  }

  #forget() {
    this.store.clear();
    this.lastSeq = 0;
    this.#greeted = false;
  }

  #queue(id, frame) {
    this.#outbox.set(id, frame);
    if (this.#ready) this.#write(frame);
    else this.wake();
  }

  #write(frame) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ v: 1, ...frame }));
  }

  #lost(socket, wait) {
    if (socket !== this.#socket) return;
    for (const timer of [this.#helloTimer, this.#pongTimer, this.#retryTimer]) clearTimeout(timer);
    clearInterval(this.#pingTimer);
    this.#socket = null;
    this.#ready = false;
    socket?.close();
    if (this.#stopped) return;
    // Jitter, so that a restarted server does not get everybody back in the same instant.
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
    else if (this.#ready) this.#deliver(event, true);
  }

  #welcome(event) {
    clearTimeout(this.#helloTimer);
    const fresh = this.#greeted;
    this.#greeted = this.#ready = true;
    this.#attempt = 0;
    this.store.set(event.conversation);
    this.onStatus("online");
    for (const missed of event.events ?? []) {
      // A hole inside a replay is all the server has: going on beats asking for ever.
      this.lastSeq = Math.max(this.lastSeq, (missed.seq ?? 0) - 1);
      this.#deliver(missed, fresh);
    }
    this.onEvent(event, fresh);
    for (const frame of this.#outbox.values()) this.#write(frame);
    if (this.#handoffWaits) this.#write({ type: "handoff.request" });
    this.#handoffWaits = false;
    this.#pingTimer = setInterval(() => this.#ping(PONG_WITHIN), PING_EVERY);
  }

  #deliver(event, fresh) {
    // Every event with a number counts, also of a kind that this version does not know; an acceptance only quotes one.
    if (Number.isInteger(event.seq) && event.type !== "message.accepted") {
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
    if (event.code === "unknown_conversation") {
      this.#forget();
      this.onEvent(event, true);
      this.#lost(this.#socket, 0);
      return;
    }
    if (event.code === "forbidden_origin") {
      this.onEvent(event, true);
      this.#stopped = true;
      this.#lost(this.#socket);
      this.onStatus("stopped");
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
