/** The demo inbox: the messages that were sent for the chat on the page. */

import { h } from "../chat/dom.js";

/** Scrolls to an element, without movement where none is wanted. */
export function goTo(element) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
}

/** Fills the inbox on its button, and by itself when a code was sent for the chat in `place`. */
export function inboxShow(inbox, place, chat) {
  const list = inbox.querySelector("[data-messages]");
  const button = inbox.querySelector("[data-open]");

  const show = async () => {
    try {
      const query = new URLSearchParams({ conversation: chat.secret ?? "" });
      const answer = await fetch(`${inbox.dataset.url}?${query}`, { cache: "no-store" });
      const { messages } = await answer.json();
      list.replaceChildren(messages.length ? h("ol", { class: "mail" }, messages.map(mail)) : list.dataset.none);
      return messages.length;
    } catch {
      list.replaceChildren(list.dataset.failed);
      return 0;
    }
  };

  const mail = ({ to, text, code }) =>
    h(
      "li",
      {},
      h("p", {}, `${list.dataset.to}: `, h("bdi", {}, to)),
      code ? h("p", {}, `${list.dataset.code}: `, h("bdi", { class: "code" }, code)) : null,
      h("p", { class: "mail-text", dir: "auto" }, text),
    );

  button.addEventListener("click", show);
  place.addEventListener("chat", ({ detail }) => {
    if (detail.type === "identity.requested" && detail.fresh && detail.asks !== "date_of_birth") {
      show();
      chat.transcript.notice(list.dataset.hint, {
        action: list.dataset.go,
        onaction: async () => {
          await show();
          goTo(inbox);
          button.focus({ preventScroll: true });
        },
      });
    }
    if (detail.type === "ended") list.replaceChildren();
  });
}
