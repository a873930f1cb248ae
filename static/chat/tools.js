/** The two buttons above the transcript: "talk to a person", always one press away, and "use my location". */

import { h, icon, wholeNodes } from "./dom.js";

const WITHIN = 15_000;
const FRESH_FOR = 5 * 60_000;

export class PersonButton {
  constructor({ word, ask }) {
    Object.assign(this, { word, ask });
    this.label = h("span", {}, word("person"));
    this.element = h(
      "button",
      { type: "button", class: "chat-person", onclick: () => this.#press() },
      icon("person"),
      this.label,
    );
  }

  /** Whether the customer has requested a person and the server has not confirmed it yet. */
  asked(asked) {
    this.element.setAttribute("aria-disabled", String(asked));
    this.label.textContent = this.word(asked ? "personAsked" : "person");
  }

  #press() {
    if (this.element.getAttribute("aria-disabled") === "true") return;
    this.asked(true);
    this.ask();
  }
}

/** Asks the browser for the location only when pressed, shows that it is shared, and takes it back. */
export class Place {
  #asking = 0; // number of the question to the browser whose answer counts; 0 when none is open
  #asked = 0;
  #shared = false;

  /** `share` is given {lat, lng} in degrees, null when it is taken back, undefined where it never was. */
  constructor({ word, share, tell }) {
    Object.assign(this, { word, share, tell });
    this.label = h("span", {}, word("place"));
    this.button = h(
      "button",
      { type: "button", class: "chat-place-button", hidden: !navigator.geolocation, onclick: () => this.#press() },
      icon("place"),
      this.label,
    );
  }

  /** The chat begins anew: nothing was ever shared in it. */
  reset() {
    this.#asking = 0;
    this.#show(undefined);
  }

  #press() {
    if (this.#asking) return;
    if (this.#shared) {
      this.#show(null);
      this.tell(this.word("placeOff"));
      return;
    }
    const question = (this.#asking = this.#asked += 1);
    this.label.textContent = this.word("placeAsking");
    this.button.setAttribute("aria-disabled", "true");
    const then = (act) => (answer) => {
      if (question !== this.#asking) return;
      this.#asking = 0;
      act(answer);
    };
    navigator.geolocation.getCurrentPosition(
      then(({ coords }) => {
        this.#show({ lat: coarse(coords.latitude), lng: coarse(coords.longitude) });
        this.tell(this.word("placeOn"));
      }),
      then(({ code }) => {
        this.#show(null);
        this.tell(this.word(code === 1 ? "placeDenied" : "placeUnknown"));
      }),
      { timeout: WITHIN, maximumAge: FRESH_FOR },
    );
  }

  #show(location) {
    this.#shared = Boolean(location);
    this.label.textContent = this.word(location ? "placeStop" : "place");
    this.button.removeAttribute("aria-disabled");
    this.button.classList.toggle("chat-on", this.#shared);
    this.share(location);
  }
}

/** About a hundred metres: near enough for the way to a branch; nothing more exact is sent. */
function coarse(degrees) {
  return Math.round(degrees * 1_000) / 1_000;
}

/** Numbers to call now, each a button as wide as the answer. */
export function calls(phones, word) {
  const link = (phone) => h("a", { class: "chat-main chat-call", href: `tel:${phone.replace(/[^+*\d]/g, "")}` }, icon("phone"), h("span", {}, wholeNodes(word("call", { phone }))));
  return h("p", { class: "chat-calls" }, phones.map(link));
}
