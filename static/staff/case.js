/** Brings new messages of a case every five seconds while it is seen, says who else looks, and inserts texts and keys. */
const EVERY = 5000;
const READ = 3000;
const page = document.querySelector(".desk-case");
const list = document.getElementById("desk-messages");
const news = document.getElementById("desk-news");
const viewers = document.getElementById("desk-viewers");
const reply = document.getElementById("reply_text");
const seen = document.getElementById("reply_seen_seq");
const seenIn = document.getElementById("reply_conversation");
const standing = document.getElementById("desk-standing");
let others = null;
let stands = null;
let isBusy = false;
let unread = null; // the newest answer whose messages were not read yet
const sections = () => [...page.querySelectorAll("section")];
const isTyping = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]");

/** Returns the letter of a key, whichever language the keyboard is set to. */
const letter = (event) => (event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : event.key);

/** Inserts a text where the caret is, on a line of its own behind other words. */
function insert(text) {
  const before = reply.value.slice(0, reply.selectionStart).trimEnd();
  const after = reply.value.slice(reply.selectionEnd);
  reply.value = (before ? `${before}\n` : "") + text + after;
  reply.focus();
}

async function look() {
  if (document.hidden) return;
  const query = new URLSearchParams({seen: page.dataset.last, conversation: page.dataset.conversation});
  // Whoever writes keeps the claim.
  if (isBusy) query.set("busy", "1");
  isBusy = false;
  const answer = await fetch(`${page.dataset.live}?${query}`, {headers: {Accept: "application/json"}});
  // Signed out, here or in another tab: no patient's data stays on the screen.
  if (answer.status === 401 || answer.redirected) location.reload();
  if (!answer.ok || answer.redirected) return;
  const found = await answer.json();
  if (others !== found.viewers) viewers.innerHTML = others = found.viewers;
  // How urgent it is and until when: an emergency in the chat changes both.
  if (stands !== found.standing) standing.innerHTML = stands = found.standing;
  const urgent = found.urgent && !page.dataset.urgent ? page.dataset.urgentNews : "";
  if (urgent) news.textContent = urgent;
  page.dataset.urgent = found.urgent;
  document.getElementById("desk-changed").hidden = found.sign === page.dataset.sign;
  // The customer may go on in another conversation, whose messages have numbers of their own.
  const isSame = found.conversation === page.dataset.conversation;
  if (isSame && found.last <= Number(page.dataset.last)) return;
  page.dataset.last = found.last;
  page.dataset.conversation = found.conversation;
  const goesTo = document.getElementById("desk-reply-to");
  if (goesTo) goesTo.textContent = found.conversation.slice(0, 8);
  // Whoever reads an earlier message goes on reading it.
  const follows = isAtEnd();
  list.insertAdjacentHTML("beforeend", found.messages);
  if (follows) list.scrollTop = list.scrollHeight;
  if (found.news) news.textContent = `${urgent} ${found.news}`.trim();
  unread = seen && found;
  readSoon();
}

/** Whether the newest message is in the list's window, which on a printed or wide page may be all of it. */
function isAtEnd() {
  return list.scrollHeight - list.scrollTop - list.clientHeight < 40;
}

/** Counts what is on the screen as read, a moment later: a reply that is sent before is asked about. */
function readSoon() {
  const found = unread;
  if (!found || !isAtEnd()) return;
  setTimeout(() => {
    if (document.hidden || found !== unread || !isAtEnd()) return;
    read(found);
    unread = null;
  }, READ);
}

/** Lets a reply say that these messages were read, in their conversation. */
function read({conversation, last}) {
  if (conversation !== page.dataset.conversation) return;
  seen.value = conversation === seenIn.value ? Math.max(seen.value, last) : last;
  seenIn.value = conversation;
}

/** Goes to the next or the previous section. */
function move(by) {
  const all = sections();
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const to = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  to.tabIndex = -1;
  to.focus();
}

/** Goes to the button that approves; Enter presses it, so that no single key decides. */
function approve() {
  const button = page.querySelector('button[name="act"][value="approve"]');
  button?.scrollIntoView({block: "center"});
  button?.focus();
}

document.addEventListener("keydown", (event) => {
  if (isTyping(event)) return;
  if (letter(event) === "c") document.getElementById("desk-claim")?.click();
  else if (letter(event) === "a") approve();
  else if (letter(event) === "j") move(1);
  else if (letter(event) === "k") move(-1);
});
page.addEventListener("input", () => {
  isBusy = true;
});
document.getElementById("desk-template")?.addEventListener("change", (event) => {
  if (event.target.value) insert(event.target.value);
  event.target.value = "";
});
page.querySelector("[data-insert]")?.addEventListener("click", (event) => {
  insert(event.target.dataset.insert);
});
document.addEventListener("visibilitychange", () => look().catch(() => {}));
setInterval(() => look().catch(() => {}), EVERY);
if (list) list.scrollTop = list.scrollHeight;
list?.addEventListener("scroll", readSoon);
// What was not sent, and why, is read before anything else.
const held = document.getElementById("desk-unseen") ?? document.getElementById("desk-kept");
held?.scrollIntoView({block: "center"});
held?.focus();
