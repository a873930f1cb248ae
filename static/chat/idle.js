/** A shared computer: a chat that shows a person's data is cleared when nobody has used it for a while. */

const IDLE = 15 * 60_000;
const WARN_BEFORE = 60_000;

export class IdleWatch {
  static KEY = "pharmacy-chat-personal"; // when the chat was last used, in milliseconds; absent while it is anonymous
  #warned = false;

  /** @param {{warn(): void, end(): void}} actions a minute before the time is over, and when it is */
  constructor({ warn, end }) {
    Object.assign(this, { warn, end });
  }

  /** From now on the chat is a person's. */
  begin() {
    sessionStorage.setItem(IdleWatch.KEY, String(Date.now()));
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
    const since = Number(sessionStorage.getItem(IdleWatch.KEY));
    return since ? Date.now() - since : 0;
  }
}
