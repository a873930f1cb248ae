/** Answers in the making: the text that has come so far, and what is being looked up for them. */

import { direction, h, hour, languageOf, paragraphs } from "./dom.js";
import { counted } from "./words.js";

export class Answers {
  #live = new Map(); // run_id → the answer's parts
  #over = new Set(); // runs that have their finished message or their end
  #quiet = false; // a person has the chat: only what is said is shown, not that something is looked up
  #resumed = null; // the run that goes on after a reconnection

  /**
   * `place(parts)` puts an item into the transcript and returns it; `grown()` is called when one takes more room,
   * `busy(yes)` when the first answer begins and the last one ends.
   */
  constructor({ word, lang, debug, place, grown, busy }) {
    Object.assign(this, { word, lang, debug, place, grown, busy });
  }

  get items() {
    return [...this.#live.values()].map((live) => live.item);
  }

  /**
   * The run whose text is half shown, which attempt at it, and how many characters; null when there is none. `restarts`:
   * how often the attempt took its text back before these characters, when it did.
   */
  get shown() {
    for (const [run, { said, attempt, restarts }] of this.#live) {
      if (said.length || restarts) {
        return { run_id: run, attempt, ...(restarts ? { restarts } : {}), offset: said.length };
      }
    }
    return null;
  }

  /** After a connection was made: only this run is still at work (or none); the others' answers come by replay. */
  resume(run) {
    for (const other of [...this.#live.keys()]) if (other !== run) this.ended(other);
    this.#resumed = run;
    if (run) this.#of(run, { quietly: true });
  }

  /** A person has the chat, or no longer: what the assistant was about to say is dropped. */
  quiet(quiet) {
    if (quiet && !this.#quiet) this.resume(null);
    this.#quiet = quiet;
  }

  /** A run begins; when it begins anew, what it had said before is void. */
  started({ run_id: run, attempt }) {
    const live = this.#of(run, { quietly: true });
    if (!live) return;
    live.calls = [];
    live.steps?.remove();
    live.steps = null;
    live.doing.replaceChildren(this.word("thinking"));
    // After a reconnection the server announces the same attempt again; its text goes on behind what is shown.
    if (run !== this.#resumed || attempt !== live.attempt) {
      live.restarts = 0;
      this.#show(live, []);
    }
    live.attempt = attempt;
    this.#resumed = null;
  }

  toolStarted(event) {
    const live = this.#of(event.run_id, { quietly: true });
    if (!live) return;
    const label = withoutDots(event.label ?? ""); // the dots are ours, and they move
    live.doing.replaceChildren(h("bdi", {}, label || this.word("thinking")));
    live.calls.push({ ...event, label });
    this.#showSteps(live);
  }

  toolFinished(event) {
    const live = this.#live.get(event.run_id);
    const call = live?.calls.find((each) => each.call_id === event.call_id);
    if (!call) return;
    Object.assign(call, { finished: true, ok: event.ok, duration_ms: event.duration_ms });
    this.#showSteps(live);
  }

  /** Text that streams in; `offset` counts characters, and what overlaps is replaced: at 0, all that was shown. */
  delta({ run_id: run, offset, text, restarts = 0 }) {
    const live = text || this.#live.has(run) ? this.#of(run) : null;
    if (!live || offset > live.said.length) return; // a part was missed: the finished message has it all
    live.restarts = restarts;
    this.#show(live, [...live.said.slice(0, offset), ...text]);
    live.doing.replaceChildren(this.word(live.said.length ? "writing" : "thinking"));
  }

  /** The finished message takes the place of the answer in the making, which is handed out. */
  finish(run) {
    const live = this.#live.get(run);
    this.#live.delete(run);
    this.#over.add(run);
    this.busy(this.#live.size > 0);
    return live;
  }

  /** The run is over; if it left no message, its place is cleared. */
  ended(run) {
    this.finish(run)?.item.remove();
  }

  clear() {
    this.resume(null);
  }

  #of(run, { quietly = false } = {}) {
    if (!run || this.#over.has(run)) return undefined;
    if (this.#live.has(run)) return this.#live.get(run);
    if (quietly && this.#quiet) return undefined;
    const text = h("div", { class: "chat-text", hidden: true });
    const doing = h("span", {}, this.word("thinking"));
    const progress = h("p", { class: "chat-progress" }, doing, h("span", { class: "chat-dots", "aria-hidden": "true" }));
    const live = { text, doing, progress, said: [], restarts: 0, calls: [], steps: null };
    this.#live.set(run, live);
    live.item = this.place([text, progress]);
    this.busy(true);
    this.grown();
    return live;
  }

  #show(live, said) {
    live.said = said;
    const text = said.join("");
    const lang = languageOf(text);
    live.text.setAttribute("dir", direction(lang));
    live.text.setAttribute("lang", lang);
    live.text.replaceChildren(...paragraphs(text, lang));
    live.text.hidden = !said.length;
    this.grown();
  }

  #showSteps(live) {
    const steps = stepList(live.calls, this.word, this.lang, this);
    steps.open = Boolean(live.steps?.open);
    if (live.steps) live.steps.replaceWith(steps);
    else live.progress.after(steps);
    live.steps = steps;
    this.grown();
  }
}

/** " name: value, …" of a call; values that were left out are not shown. */
function argumentNodes(values) {
  const given = Object.entries(values ?? {}).filter(([, value]) => value !== null);
  return given.flatMap(([name, value], at) => [
    `${at ? "," : ""} ${name}: `,
    h("bdi", {}, typeof value === "string" ? value : JSON.stringify(value)),
  ]);
}

const SOURCES = {
  check_inventory: "sourceStock",
  check_stock: "sourceStock",
  get_medication_info: "sourceLeaflet",
  interaction_check: "sourceInteractions",
  prescription_management: "sourcePrescriptions",
  prescription_verify: "sourcePrescriptions",
};

/**
 * The look-ups as an element that opens, or null when there were none: what was looked up, where and when. The call
 * itself, with its arguments, is for staff and developers (`debug`).
 */
export function stepList(calls, word, lang, { at = null, debug = false } = {}) {
  if (!calls.length) return null;
  return h(
    "details",
    { class: "chat-steps", lang, dir: direction(lang) },
    h("summary", {}, `${word("activity")} (${counted(word, "lookups", calls.length)})`),
    h("ol", {}, calls.map((call) => h("li", {}, step(call, word, at), debug ? rawCall(call, word) : null))),
  );
}

function step(call, word, at) {
  const source = word(SOURCES[call.name] ?? "sourceList");
  const found = !call.finished ? word("running") : call.ok ? word("source", { source }) : word("noResult");
  return [
    h("p", {}, h("bdi", {}, withoutDots(call.label ?? ""))),
    h("p", { class: "chat-time" }, found, call.finished && at ? ` · ${hour(at)}` : ""),
  ];
}

function rawCall(call, word) {
  const took = Number.isFinite(call.duration_ms) ? [" · ", word("ms", { n: call.duration_ms })] : [];
  return h("p", { dir: "ltr", lang: "en" }, h("code", {}, h("b", {}, call.name), argumentNodes(call.arguments)), took);
}

function withoutDots(label) {
  return label.replace(/(…|\.\.\.)$/, "");
}
