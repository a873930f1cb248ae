/** What was said, as a text file for the customer: made of what the page shows, sent nowhere. */

import { cardLines } from "./cards.js";
import { dateAndHour, h } from "./dom.js";
import { wordsIn } from "./words.js";

const SPEAKERS = ["user", "assistant", "staff"];

/** Hands the conversation in this list of messages to the browser's downloads. */
export function download(list, word) {
  const url = URL.createObjectURL(new Blob([textOf(list, word)], { type: "text/plain;charset=utf-8" }));
  const day = dateAndHour(new Date()).slice(0, 10).split(".").reverse().join("-");
  h("a", { href: url, download: `pharmacy-chat-${day}.txt` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function textOf(list, word) {
  const head = [word("title"), word("recordOf", { time: dateAndHour(new Date()) }), word("disclosure")].join("\n");
  const parts = [...list.children].map((item) => said(item, word)).filter(Boolean);
  return `\ufeff${[head, ...parts].join("\n\n")}\n`.replaceAll("\n", "\r\n");
}

/** One message with its cards, its speaker named in its own language; "" for what nobody has said. */
function said(item, word) {
  const role = SPEAKERS.find((each) => item.classList.contains(`chat-${each}`));
  const cards = [...item.querySelectorAll(".chat-card")];
  const time = item.querySelector("time")?.dateTime;
  const unsent = item.querySelector(".chat-state") && !time;
  if (unsent || (!role && !cards.length)) return "";
  const lang = item.querySelector("[lang]")?.lang;
  const speaker = item.dataset.speaker ?? (lang ? wordsIn(lang) : word)(role ?? "system");
  const text = [...item.querySelectorAll("p.chat-text, .chat-text > p")].map((each) => each.textContent);
  const lines = cards.flatMap(cardLines).map((line) => `  ${line}`);
  return [`${speaker}${time ? `, ${dateAndHour(new Date(time))}` : ""}:`, ...text, ...lines].join("\n");
}
