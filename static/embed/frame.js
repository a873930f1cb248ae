/** The page inside the frame: the chat, and what it and the loader on the shop's page tell each other. */

import { Chat } from "../chat/widget.js";

const root = document.getElementById("chat");
const { lang, site } = root.dataset;
const origins = JSON.parse(root.dataset.origins);
let host = null; // the origin of the page around us, known once it has said hello
let counted = 0;
let seen = 0; // of those counted, how many came while the chat was in view

function tell(type, more) {
  if (host) parent.postMessage({ pharmacyChat: 1, type, ...more }, host);
}

async function ticket() {
  const answer = await fetch(root.dataset.ticket, {
    method: "POST",
    cache: "no-store",
    credentials: "omit",
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`no ticket: ${answer.status}`);
  return (await answer.json()).ticket;
}

const chat = new Chat(root, {
  lang,
  switchUrl: root.dataset.switch,
  frame: true,
  site,
  ticket,
  onclose: () => tell("close"),
  onunread: (count) => {
    counted = count;
    seen = Math.min(seen, counted);
    tell("unread", { count: counted - seen });
  },
});

const heard = {
  hello: () => tell("ready", { lang }),
  shown: () => chat.focus(),
  hidden: () => {
    seen = counted;
  },
  shutdown: () => {
    chat.connection.stop();
    tell("gone");
  },
};

addEventListener("message", ({ source, origin, data }) => {
  if (source !== parent || !origins.includes(origin) || data?.pharmacyChat !== 1) return;
  if (!Object.hasOwn(heard, data.type)) return;
  host = origin;
  heard[data.type]();
});

// Replaced, not followed: a step back on the shop's page stays a step back of the shop.
root.addEventListener("click", (event) => {
  const link = event.target.closest(".chat-switch");
  if (!link) return;
  event.preventDefault();
  location.replace(link.href);
});
