/** Our own page for a conversation that leaves a frame. */

import { handoverTicket } from "./ticket.js";
import { Chat } from "../chat/widget.js";
import { inboxShow } from "../site/inbox.js";

const place = document.getElementById("chat");
const chat = new Chat(place, { lang: place.dataset.lang, switchUrl: place.dataset.switch, handoverTicket });

const inbox = document.getElementById("inbox");
if (inbox) inboxShow(inbox, place, chat);
