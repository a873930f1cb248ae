/** The demo page: puts the chat into it, asks the examples, shows the messages of the demo inbox. */

import { Chat } from "../chat/widget.js";
import { goTo, inboxShow } from "./inbox.js";

const place = document.getElementById("chat");
const chat = new Chat(place, { lang: place.dataset.lang, switchUrl: place.dataset.switch });

for (const button of document.querySelectorAll("[data-ask]")) {
  button.addEventListener("click", () => {
    chat.ask(button.textContent);
    goTo(place);
  });
}

const inbox = document.getElementById("inbox");
if (inbox) inboxShow(inbox, place, chat);
