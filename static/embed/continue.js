/** Our own page for a conversation that leaves a frame: the ticket goes out of the address before anything else. */

const handoverTicket = location.hash.slice(1) || undefined;
history.replaceState(null, "", location.pathname + location.search);

const { Chat } = await import("../chat/widget.js");
const place = document.getElementById("chat");
const chat = new Chat(place, { lang: place.dataset.lang, switchUrl: place.dataset.switch, handoverTicket });

const inbox = document.getElementById("inbox");
if (inbox) (await import("../site/inbox.js")).inboxShow(inbox, place, chat);
