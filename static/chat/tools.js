/** What is pressed besides the composer: a person, a new chat, the location, numbers to call. */

import { h, icon, wholeNodes } from "./dom.js";
import { wordsIn } from "./words.js";

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

/** A button that begins a new chat. */
export function newButton(word, begin) {
  return h("button", { type: "button", class: "chat-new", onclick: begin }, icon("plus"), h("span", {}, word("fresh")));
}

/** Asks the browser for the location only when a button under an answer is pressed, and takes it back. */
export class Place {
  #asking = 0; // number of the question to the browser whose answer counts; 0 when none is open
  #asked = 0;

  /**
   * `share` is given {lat, lng} in degrees, null when it is taken back, undefined where it never was; `mark(shared)` shows
   * whether it is shared.
   */
  constructor({ word, share, tell, mark }) {
    Object.assign(this, { word, share, tell, mark });
  }

  /** The button under an answer of this language; `then()` asks again, now with the location. */
  button(lang, then) {
    if (!navigator.geolocation) return null;
    const word = wordsIn(lang);
    const label = h("span", {}, word("place"));
    const press = () => this.#press(button, label, word, then);
    const button = h("button", { type: "button", class: "chat-plain chat-locate", onclick: press }, icon("place"), label);
    return button;
  }

  stop() {
    this.#show(null);
    this.tell(this.word("placeOff"));
  }

  /** The chat begins anew: nothing was ever shared in it. */
  reset() {
    this.#show(undefined);
  }

  #press(button, label, word, then) {
    if (this.#asking) return;
    const question = (this.#asking = this.#asked += 1);
    button.setAttribute("aria-disabled", "true");
    label.textContent = word("placeAsking");
    const answered = (act) => (answer) => {
      button.removeAttribute("aria-disabled");
      label.textContent = word("place");
      if (question !== this.#asking) return;
      this.#asking = 0;
      act(answer);
    };
    navigator.geolocation.getCurrentPosition(
      answered(({ coords }) => {
        this.#show({ lat: coarse(coords.latitude), lng: coarse(coords.longitude) });
        this.tell(this.word("placeOn"));
        then();
      }),
      answered(({ code }) => this.tell(this.word(code === 1 ? "placeDenied" : "placeUnknown"))),
      { timeout: WITHIN, maximumAge: FRESH_FOR },
    );
  }

  #show(location) {
    this.#asking = 0;
    this.mark(Boolean(location));
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
