/** The ticket that is behind the "#"; it goes out of the address before anything else. */

export const handoverTicket = location.hash.slice(1) || undefined;
history.replaceState(null, "", location.pathname + location.search);
