/**
 * The transcript by keyboard: one tab stop. Up, Down, Home and End go from message to message, Enter goes to the
 * controls inside a message, Escape back to the message and then to the transcript.
 */

const CONTROLS = "button, summary, a[href], input, textarea, select, [tabindex='0'], [data-parked]";

export class Browsing {
  constructor(view, list) {
    Object.assign(this, { view, list });
    new MutationObserver(() => this.#park()).observe(list, { childList: true, subtree: true });
    view.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Takes controls out of the page's tab order: with many answers there would be no end of them. */
  #park() {
    for (const control of this.list.querySelectorAll(CONTROLS)) {
      if (control.tabIndex < 0) continue;
      control.dataset.parked = "";
      control.tabIndex = -1;
    }
  }

  #key(event) {
    const from = document.activeElement;
    const item = this.list.contains(from) ? from.closest(".chat-item") : null;
    if (from !== this.view && !item) return;
    const target = item && from !== item ? this.#inside(event, item, from) : this.#among(event, item);
    if (!target) return;
    event.preventDefault();
    target.focus();
  }

  #among(event, item) {
    const items = [...this.list.children];
    const at = items.indexOf(item);
    return {
      ArrowUp: items[at < 0 ? items.length - 1 : Math.max(0, at - 1)],
      ArrowDown: items[at < 0 ? items.length - 1 : Math.min(items.length - 1, at + 1)],
      Home: items[0],
      End: items.at(-1),
      Enter: item && controls(item)[0],
      Escape: item && this.view,
    }[event.key];
  }

  /** Tab goes through the message's own controls; after the last one it leaves the transcript. */
  #inside(event, item, from) {
    if (event.key === "Escape") return item;
    if (event.key !== "Tab") return null;
    const all = controls(item);
    const at = all.indexOf(from);
    return event.shiftKey ? (all[at - 1] ?? item) : all[at + 1];
  }
}

function controls(item) {
  return [...item.querySelectorAll(CONTROLS)].filter(
    (control) => control.checkVisibility() && !control.disabled,
  );
}
