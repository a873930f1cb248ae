/** Renews the queue every five seconds while it is seen, says what is new, and moves through it with j and k. */
const EVERY = 5000;
const table = document.getElementById("desk-queue");
const body = table.tBodies[0];
const news = document.getElementById("desk-news");
const title = document.title;
let shown = "";
const links = () => [...body.querySelectorAll("tr[data-key] th a")];
const isTyping = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]");

/** Returns the letter of a key, whichever language the keyboard is set to. */
const letter = (event) => (event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : event.key);

function badge(waiting) {
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
}

/** Replaces the rows; the focus stays on the row that had it, and what is read stays where it is on the screen. */
function renew(rows) {
  if (shown === rows) return;
  shown = rows;
  const key = document.activeElement?.closest("tr[data-key]")?.dataset.key;
  const top = (row) => row.getBoundingClientRect().top;
  // At the top of the list new rows come into view.
  const read = top(body) < 0 && [...body.querySelectorAll("tr[data-key]")].find((row) => top(row) >= 0);
  const before = read && top(read);
  body.innerHTML = rows;
  const rowOf = (one) => body.querySelector(`tr[data-key="${one}"]`);
  if (key) rowOf(key)?.querySelector("th a").focus({preventScroll: true});
  const after = read && rowOf(read.dataset.key);
  if (after) scrollBy({top: top(after) - before, behavior: "instant"});
}

async function look() {
  if (document.hidden) return;
  const url = new URL(table.dataset.rows, location.href);
  url.searchParams.set("sign", table.dataset.sign);
  url.searchParams.set("since", table.dataset.last);
  const answer = await fetch(url, {headers: {Accept: "application/json"}});
  // Signed out, here or in another tab: no patient's data stays on the screen.
  if (answer.status === 401 || answer.redirected) location.reload();
  if (!answer.ok || answer.redirected) return;
  const found = await answer.json();
  renew(found.rows);
  const caption = document.getElementById("desk-caption");
  if (caption.textContent !== found.caption) caption.textContent = found.caption;
  table.dataset.sign = found.sign;
  if (found.last > Number(table.dataset.last)) table.dataset.last = found.last;
  for (const [name, count] of Object.entries(found.counts)) {
    const number = document.querySelector(`[data-count="${name}"]`);
    if (number) number.textContent = count;
  }
  if (found.news && news.textContent !== found.news) news.textContent = found.news;
  badge(found.waiting);
}

document.addEventListener("keydown", (event) => {
  if (isTyping(event)) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("desk-q").focus();
  } else if (letter(event) === "j" || letter(event) === "k") {
    const all = links();
    const at = all.indexOf(document.activeElement);
    all[letter(event) === "j" ? at + 1 : Math.max(at - 1, 0)]?.focus();
  }
});
document.addEventListener("visibilitychange", () => look().catch(() => {}));
setInterval(() => look().catch(() => {}), EVERY);
badge(Number(table.dataset.waiting));
