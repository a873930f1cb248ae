/** The demo page: puts the chat into it, asks the examples, shows the messages of the demo inbox. */

import { Chat } from "../chat/widget.js";
import { h } from "../chat/dom.js";

const place = document.getElementById("chat");
const chat = new Chat(place, { lang: place.dataset.lang, switchUrl: place.dataset.switch });

function goTo(element) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
}

for (const button of document.querySelectorAll("[data-ask]")) {
  button.addEventListener("click", () => {
    chat.ask(button.textContent);
    goTo(place);
  });
}

const inbox = document.getElementById("inbox");
if (inbox) {
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
    if (detail.type === "identity.requested" && detail.fresh) {
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
