/** The chat on another website: a button, and on the first click a frame. docs/operations.md, Embedding. */
(() => {
  "use strict";
  const me = document.currentScript;
  if (!me || window.PharmacyChat) return; // a second snippet on the page adds nothing
  const base = new URL(me.src).origin;
  const site = me.dataset.site || "";
  const narrow = matchMedia("(max-width: 30rem), (max-height: 26rem)");
  const WORDS = {
    en: ["Chat with the pharmacy", "Opening…", "The chat cannot be shown here. Open it on our site", "Close", "new messages"],
    he: ["שיחה עם בית המרקחת", "פותחים…", "לא ניתן להציג כאן את הצ׳אט. לפתיחה באתר שלנו", "סגירה", "הודעות חדשות"],
  };
  const ICON = "M4 3h16a2 2 0 0 1 2 2v11a2 2 0 0 1-2 2H9l-5 4v-4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zm7 3v3H8v3h3v3h3v-3h3V9h-3V6z";
  // Important rules of a shadow tree win over every rule of the page, also important ones.
  const CSS = `
:host{all:initial!important;position:fixed!important;z-index:2147483000!important;inset:auto 0 0!important}
*{box-sizing:border-box;font:600 16px/1.4 system-ui,sans-serif}
:focus-visible{outline:3px solid #0b57d0;outline-offset:2px;box-shadow:0 0 0 2px #fff}
#launch{position:fixed;bottom:max(20px,env(safe-area-inset-bottom));right:max(20px,env(safe-area-inset-right));
width:56px;height:56px;padding:0;border:2px solid transparent;border-radius:50%;background:#0a5c52;color:#fff;
box-shadow:0 3px 12px #0006;cursor:pointer}
[dir=rtl] #launch{right:auto;left:max(20px,env(safe-area-inset-left))}
svg{width:28px;fill:currentColor;vertical-align:middle}
#badge{position:absolute;top:-4px;right:-4px;min-width:22px;height:22px;padding:0 6px;border-radius:11px;
background:#a3170f;color:#fff;font-size:14px;line-height:22px}
dialog{position:fixed;inset:auto;bottom:max(88px,calc(env(safe-area-inset-bottom) + 68px));right:20px;margin:0;padding:0;
width:min(400px,100vw - 40px);height:min(660px,100vh - 108px);max-width:none;max-height:none;overflow:hidden;
border:1px solid #71827f;border-radius:14px;background:#fff;color:#14211f;box-shadow:0 8px 32px #0006}
[dir=rtl] dialog{right:auto;left:20px}
dialog:modal{inset:0;width:100%;height:100%;height:100dvh;border:0;border-radius:0}
iframe{position:absolute;inset:0;width:100%;height:100%;border:0}
#wait{display:grid;place-content:center;gap:12px;height:100%;text-align:center}
#wait *{margin:0;padding:10px 18px;color:inherit;background:none}
[hidden]{display:none!important}
@media(prefers-color-scheme:dark){#launch{background:#7fd6c6;color:#06221e}dialog{background:#16211f;color:#e9f1ef}}
@media(forced-colors:active){#launch{border-color:ButtonText}#badge{border:1px solid}}
@media print{:host{display:none!important}}`;

  const listeners = {};
  let lang = pick(me.dataset.locale);
  let host, root, launch, badge, panel, wait, frame, timer;
  let isOpen = false;
  let isReady = false; // the frame's page has answered
  let wanted = false; // open() was called before the site was known
  let leaving = false;
  let unread = 0;

  function pick(wish) {
    if (wish === "en" || wish === "he") return wish;
    return /^(he|iw)\b/i.test(document.documentElement.lang || navigator.language) ? "he" : "en";
  }

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function emit(event, detail) {
    for (const listener of listeners[event] || []) setTimeout(listener, 0, detail);
  }

  function start() {
    const origins = (window.PharmacyChatSites || {})[site];
    if (!origins || !origins.includes(location.origin)) {
      const why = origins ? `${location.origin} is not on the list of ${site}` : `there is no site "${site}"`;
      console.warn(`PharmacyChat: ${why}; no chat is shown.`);
      emit("error", { code: origins ? "forbidden_origin" : "unknown_site" });
      return;
    }
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS(svg.namespaceURI, "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", ICON);
    svg.append(path);
    badge = make("span", { id: "badge", hidden: true });
    badge.setAttribute("aria-hidden", "true");
    launch = make("button", { id: "launch", onclick: toggle }, svg, badge);
    launch.setAttribute("aria-controls", "panel");
    wait = make("div", { id: "wait" }, make("a", { target: "_blank" }), make("button", { onclick: close }));
    panel = make("dialog", { id: "panel" }, wait);
    panel.addEventListener("close", () => !panel.open && shut());
    host = make("div");
    root = host.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    root.append(make("div", {}, launch, panel));
    root.addEventListener("keydown", (event) => event.key === "Escape" && close());
    narrow.addEventListener("change", () => isOpen && (panel.close(), show()));
    addEventListener("message", heard);
    // Beside the body, because sites that exchange their body on navigation would take it away.
    document.documentElement.append(host);
    paint();
    api.isReady = true;
    emit("ready");
    if (wanted) open();
  }

  function paint() {
    const [label, opening, failed, closing, news] = WORDS[lang];
    const box = root.firstChild;
    box.lang = lang;
    box.dir = lang === "he" ? "rtl" : "ltr";
    launch.setAttribute("aria-label", unread ? `${label}, ${unread} ${news}` : label);
    launch.setAttribute("aria-expanded", String(isOpen));
    badge.textContent = unread > 9 ? "9+" : unread;
    badge.hidden = !unread;
    panel.setAttribute("aria-label", label);
    if (frame) frame.title = label;
    const [link, button] = wait.children;
    link.textContent = link.href ? failed : opening;
    button.textContent = closing;
  }

  function address() {
    return `${base}/embed/${encodeURIComponent(site)}/?lang=${lang}`;
  }

  function load() {
    frame = make("iframe", { allow: "geolocation", hidden: true });
    frame.setAttribute(
      "sandbox",
      "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads",
    );
    frame.src = address();
    frame.addEventListener("load", () => send("hello"));
    panel.append(frame);
    timer = setTimeout(() => {
      wait.firstChild.href = `${base}/continue/`;
      paint();
      emit("error", { code: "frame" });
    }, 15_000);
  }

  function send(type) {
    frame.contentWindow.postMessage({ pharmacyChat: 1, type }, base);
  }

  function heard({ source, origin, data }) {
    if (!frame || source !== frame.contentWindow || origin !== base || !data || data.pharmacyChat !== 1) return;
    if (data.type === "ready") {
      clearTimeout(timer);
      isReady = true;
      if (Object.hasOwn(WORDS, data.lang)) lang = data.lang;
      wait.hidden = true;
      frame.hidden = false;
      if (leaving) send("shutdown");
      else send(isOpen ? "shown" : "hidden");
      if (isOpen) frame.focus();
    } else if (data.type === "close") close();
    else if (data.type === "gone" && leaving) remove();
    else if (data.type === "unread" && Number.isInteger(data.count) && data.count >= 0 && !isOpen) {
      unread = data.count;
      emit("unread", { count: unread });
    } else return;
    paint();
  }

  function show() {
    if (narrow.matches) panel.showModal();
    else panel.show();
    if (isReady) frame.focus();
  }

  function open() {
    wanted = true;
    if (!host || isOpen || leaving) return;
    isOpen = true;
    unread = 0;
    if (!frame) load();
    show();
    if (isReady) send("shown");
    paint();
    emit("open");
  }

  function close() {
    wanted = false;
    if (isOpen) shut();
  }

  function shut() {
    if (!isOpen) return;
    isOpen = false;
    const within = panel.contains(root.activeElement);
    panel.close();
    if (within) launch.focus();
    if (isReady) send("hidden");
    paint();
  }

  function toggle() {
    if (isOpen) close();
    else open();
  }

  function remove() {
    clearTimeout(timer);
    removeEventListener("message", heard);
    host.remove();
    host = null;
  }

  const api = {
    open,
    close,
    toggle,
    setLocale(wish) {
      const before = lang;
      lang = pick(wish);
      if (!host || lang === before) return;
      // Replaced, not set: the page's history gets no entry.
      if (frame) frame.contentWindow.location.replace(address());
      paint();
    },
    shutdown() {
      if (!host || leaving) return;
      close();
      leaving = true;
      launch.hidden = true;
      // What this tab holds of the conversation can only be cleared from within the frame.
      if (!frame) load();
      else if (isReady) send("shutdown");
      setTimeout(() => host && remove(), 10_000);
    },
    on(event, listener) {
      (listeners[event] = listeners[event] || []).push(listener);
      if (event === "ready" && api.isReady) setTimeout(listener, 0);
    },
    isReady: false,
  };
  window.PharmacyChat = api;

  const script = make("script", { src: `${base}/w/v1/sites/${encodeURIComponent(site)}.js`, async: true, onload: start });
  script.nonce = me.nonce;
  script.onerror = () => emit("error", { code: "unavailable" });
  document.head.append(script);
})();
