/**
 * What the browser keeps of a chat, for as long as its tab lives: a key to the conversation, and no text of it. On a
 * shared computer a chat that shows a person's data is cleared when nobody has used it for a while.
 */

const USED = "-personal"; // when a chat that is a person's was last used, in milliseconds
const IDLE = 15 * 60_000;
const WARN_BEFORE = 60_000;

const tab = (() => {
  try {
    return window.sessionStorage;
  } catch {
    // Some browsers forbid storage in a frame: then the page has to do.
    const kept = new Map();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: (key) => kept.delete(key),
    };
  }
})();

export const store = {
  key: "pharmacy-chat", // each embedding site's frame has one of its own
  get: () => tab.getItem(store.key),
  set: (secret) => tab.setItem(store.key, secret),
  /** 0 while the chat is anonymous. */
  get used() {
    return Number(tab.getItem(store.key + USED));
  },
  set used(time) {
    tab.setItem(store.key + USED, String(time));
  },
  clear() {
    tab.removeItem(store.key);
    tab.removeItem(store.key + USED);
  },
};

export class IdleWatch {
  #warned = false;

  /** @param {{warn(): void, end(): void}} actions a minute before the time is over, and when it is */
  constructor({ warn, end }) {
    Object.assign(this, { warn, end });
  }

  /** From now on the chat is a person's. */
  begin() {
    store.used = Date.now();
    this.#warned = false;
  }

  /** Somebody used the chat. */
  touch() {
    if (this.#unused() && !this.over) this.begin();
  }

  get over() {
    return this.#unused() > IDLE;
  }

  check() {
    if (this.over) {
      this.end();
    } else if (this.#unused() > IDLE - WARN_BEFORE && !this.#warned) {
      this.#warned = true;
      this.warn();
    }
  }

  #unused() {
    return store.used ? Date.now() - store.used : 0;
  }
}
