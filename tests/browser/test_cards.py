"""The fact cards in Chromium: every kind and state, links from numbers alone, markup as text, mixed directions, axe."""

import copy
from itertools import pairwise
from typing import Any

import pytest
from browser.bidi_samples import BIDI
from browser.card_samples import PAYLOADS, cards
from browser.looking import NARROW, WIDE, check_page
from playwright.sync_api import ViewportSize, expect

from agent.answers.card_texts import bare, texts_shown

pytestmark = pytest.mark.browser
SMALL_LINKS = """
[...document.querySelectorAll(".chat-card :is(a, button)")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width < 44 || box.height < 44;
}).map((element) => element.outerHTML)
"""
OUTSIDE = """
[...document.querySelectorAll(".chat-card *")].filter((element) => {
  if (element.closest(".chat-hidden")) return false;
  const card = element.closest(".chat-card").getBoundingClientRect(), box = element.getBoundingClientRect();
  return box.width && (box.left < card.left - 1 || box.right > card.right + 1);
}).map((element) => element.outerHTML)
"""


def show(chat: Any, server: Any, lang: str, some: list[Any], text: str = "Here.") -> Any:
    """A message with these cards on a page of this language."""
    chat.open(lang)
    server.send(**server.say(1, text, lang=lang, cards=some))
    expect(chat.answers).to_have_count(1)
    return chat.answers.first


@pytest.mark.parametrize("lang", ["en", "he"])
def test_every_card_fits_the_narrowest_screen(new_chat: Any, make_server: Any, lang: str) -> None:
    chat = new_chat(320, 640)
    show(chat, make_server(chat.page), lang, cards(lang))
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert chat.page.evaluate("document.querySelector('.chat-log').scrollWidth") <= 320
    assert chat.page.evaluate(OUTSIDE) == []
    assert chat.page.evaluate(SMALL_LINKS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "he"])
def test_every_card_is_accessible_and_fits(new_chat: Any, make_server: Any, lang: str, scheme: str) -> None:
    chat = new_chat(color_scheme=scheme)
    server = make_server(chat.page)
    show(chat, server, lang, cards(lang))
    expect(chat.page.locator(".chat-card")).to_have_count(len(cards(lang)))
    for width in (NARROW, WIDE):
        chat.page.set_viewport_size(ViewportSize(width=width, height=844))
        check_page(chat.page, f"cards-{scheme}")
        assert chat.page.evaluate("document.querySelector('.chat-log').scrollWidth") <= width
        assert chat.page.evaluate(OUTSIDE) == []
        assert chat.page.evaluate(SMALL_LINKS) == []


def test_forced_colours_keep_icons_and_edges(new_chat: Any, make_server: Any) -> None:
    chat = new_chat(390, 844, forced_colors="active")
    show(chat, make_server(chat.page), "he", cards("he"))
    check_page(chat.page, "cards-forced")
    edges = "[...document.querySelectorAll('.chat-link, .chat-tag')].map((e) => getComputedStyle(e).borderTopWidth)"
    assert set(chat.page.evaluate(edges)) == {"1px"}
    fills = "[...document.querySelectorAll('.chat-card svg')].filter((e) => getComputedStyle(e).fill !== getComputedStyle(e).color).length"
    assert chat.page.evaluate(fills) == 0


def test_every_state_has_its_own_words_and_icon(chat: Any, server: Any) -> None:
    answer = show(chat, server, "en", cards("en"))
    tags = answer.locator(".chat-tag")
    shapes = {
        (tag.inner_text(), tag.locator("path").get_attribute("d"))
        for tag in [tags.nth(n) for n in range(tags.count())]
    }
    assert len(shapes) == len({text for text, _ in shapes}) == len({shape for _, shape in shapes}) == 2
    levels = answer.locator(".chat-card-interactions .chat-mark-line")
    expect(levels).to_have_text(["Not to be taken together", "Caution", "Same active ingredient"])
    drawn = {levels.nth(n).locator("path").get_attribute("d") for n in range(3)}
    assert len(drawn) == 3


def test_a_table_has_a_caption_and_headers(chat: Any, server: Any) -> None:
    show(chat, server, "en", cards("en"))
    table = chat.page.get_by_role("table", name="Equivalents of PainAway")
    expect(table.get_by_role("columnheader")).to_have_text(["Product", "In stock"])
    row = table.get_by_role("row", name="Sulfamethoxazole")
    expect(row.get_by_role("rowheader")).to_contain_text("Rx – prescription")
    expect(row.get_by_role("cell")).to_have_text("158 units")


def test_links_are_built_only_from_numbers(chat: Any, server: Any) -> None:
    answer = show(chat, server, "en", cards("en"))
    place = answer.get_by_role("link", name="Map Ramat Aviv, Tel Aviv, opens in a new window").first
    expect(place).to_have_attribute("href", "https://www.google.com/maps/search/?api=1&query=32.113,34.804")
    expect(place).to_have_attribute("target", "_blank")
    expect(place).to_have_attribute("rel", "noopener noreferrer")
    phone = answer.get_by_role("link", name="Call Ramat Aviv, Tel Aviv 03-555-0101").first
    expect(phone).to_have_attribute("href", "tel:035550101")
    expect(phone.locator("bdi")).to_have_attribute("dir", "ltr")


@pytest.mark.parametrize(
    "change",
    [
        {"place": {"lat": "32.1", "lng": "34.8"}},
        {"place": {"lat": 132.1, "lng": 34.8}},
        {"place": {"lat": 32.1}},
        {"place": "https://evil.example/"},
        {"place": {"url": "https://evil.example/", "lat": None, "lng": None}},
        {"place": [32.1, 34.8]},
        {"place": None},
    ],
)
def test_without_two_coordinates_there_is_no_map_link(chat: Any, server: Any, change: dict[str, Any]) -> None:
    store = {"name": "Jaffa", "phone": "javascript:alert(1)", **change}
    answer = show(chat, server, "en", [{"kind": "stock", "data": {"title": "Stock", "stores": [store]}}])
    expect(answer.locator(".chat-card")).to_contain_text("Jaffa")
    expect(answer.locator(".chat-card a")).to_have_count(0)
    expect(answer.locator(".chat-card")).to_contain_text("javascript:alert(1)")  # no number: text


@pytest.mark.parametrize(
    ("phone", "href"),
    [("+972 3-555-0104", "tel:+97235550104"), ("*2345", "tel:*2345"), ("(03) 555.0104", "tel:035550104")],
)
def test_a_phone_number_in_any_notation_can_be_called(chat: Any, server: Any, phone: str, href: str) -> None:
    store = {"name": "Jaffa", "phone": phone}
    answer = show(chat, server, "en", [{"kind": "stock", "data": {"title": "Stock", "stores": [store]}}])
    expect(answer.locator(".chat-card a")).to_have_attribute("href", href)
    expect(answer.locator(".chat-card a bdi")).to_have_text(phone)


def test_a_card_can_be_written_as_lines_of_text(chat: Any, server: Any) -> None:
    chat.open()
    lines = """async (samples) => {
      const {card, cardLines} = await import("/static/chat/cards.js");
      return samples.map((each) => cardLines(card(each)));
    }"""
    told = chat.page.evaluate(
        lines, [*cards("en"), {"kind": "confirm", "data": {"title": "T", "rows": [["a", "b"]]}}]
    )
    assert told[1][:4] == [
        "Stock: Ibuprofen – Rx – prescription",
        "Ramat Aviv, Tel Aviv – 12 units",
        "8.0 km – Open now until 20:00",
        "Today 08:00–13:00, 16:00–20:00",
    ]
    assert "Product – In stock" in told[3]
    assert told[-1] == ["T", "a – b"]
    assert all(line for each in told for line in each)


@pytest.mark.parametrize("lang", ["en", "he"])
def test_a_card_shows_what_the_text_may_leave_to_it(chat: Any, server: Any, lang: str) -> None:
    """What `agent/answers/card_texts.py` takes for shown is on the page, without a click."""
    samples: list[Any] = [one for one in cards(lang) if one["kind"] != "sources"]
    answer = show(chat, server, lang, samples)
    for place, sample in enumerate(samples):
        seen = answer.locator(".chat-card").nth(place).inner_text()
        missing = [text for text in texts_shown(sample) if bare(text) not in bare(seen)]
        assert missing == [], sample["kind"]


def test_several_rows_are_numbered(chat: Any, server: Any) -> None:
    answer = show(chat, server, "en", cards("en"))
    number = """(element) => getComputedStyle(element, "::before").content"""
    stores = answer.locator(".chat-card-stock li b")
    assert "counter(place)" in stores.first.evaluate(number)


def test_cards_of_earlier_versions_are_still_shown(chat: Any, server: Any) -> None:
    old = [
        {
            "kind": "interactions",
            "data": {"title": "Interactions", "rows": [["Warfarin + Advil", "caution"]]},
        },
        {
            "kind": "prescriptions",
            "data": {"title": "Yours", "columns": ["Medicine", "Refills"], "rows": [["Metformin", 5]]},
        },
    ]
    answer = show(chat, server, "en", old)
    expect(answer.locator("dd")).to_have_text("caution")
    expect(answer.get_by_role("row", name="Metformin").get_by_role("cell")).to_have_text("5")


ODD: list[Any] = [
    None,
    7,
    "card",
    [],
    {},
    {"kind": "hologram", "data": {"title": "never"}},
    {"kind": "constructor", "data": {"title": "never"}},
    {"kind": "stock"},
    {"kind": "stock", "data": None},
    {"kind": "stock", "data": []},
    {"kind": "stock", "data": {"stores": [None, 3, [], {}], "products": "x", "rows": 7, "words": 1}},
    {"kind": "stock", "data": {"stores": {"name": "never"}}},
    {"kind": ["stock"], "data": {"title": "never"}},
    {"kind": "interactions", "data": {"pairs": [{"names": "never", "level": ["avoid"]}]}},
    {"kind": "medication", "data": {"title": {"en": "never"}, "rows": [[{}, None]], "tag": {}, "rx": "yes"}},
]


def test_an_unknown_shape_gives_no_card_and_no_error(chat: Any, server: Any) -> None:
    answer = show(chat, server, "en", [*(odd for odd in ODD if isinstance(odd, dict)), cards("en")[0]])
    expect(answer.locator(".chat-card-medication h4").last).to_have_text("Acamoli")
    expect(answer).not_to_contain_text("never")
    none = """async (odd) => {
      const {card} = await import("/static/chat/cards.js");
      return [undefined, ...odd].map((each) => card(each)).filter(Boolean).length;
    }"""
    assert chat.page.evaluate(none, ODD[:-1]) == 0


def test_no_value_in_a_card_causes_an_error(chat: Any, server: Any) -> None:
    chat.open()
    made = chat.page.evaluate(
        """async (samples) => {
          const {card} = await import("/static/chat/cards.js");
          const odd = [null, 0, -1, 1e99, "", "x", true, [], [null], [[]], {}, {length: 3}, {toString: 1}];
          let made = 0;
          const walk = (whole, holder) => {
            for (const key of Object.keys(holder)) {
              const kept = holder[key];
              for (const value of odd) {
                holder[key] = value;
                card(whole);
                made += 1;
              }
              holder[key] = kept;
              if (kept && typeof kept === "object") walk(whole, kept);
            }
          };
          for (const sample of samples) walk(sample, sample);
          return made;
        }""",
        cards("he"),
    )
    assert made > 2_000


# -- Markup ---------------------------------------------------------------------------------------------------
def _filled(value: Any, payload: str) -> Any:
    """A card with the payload as every text of it; names that only a program reads stay."""
    if isinstance(value, dict):
        return {
            key: item if key in ("kind", "level", "state") else _filled(item, payload)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_filled(item, payload) for item in value]
    return payload if isinstance(value, str) else copy.copy(value)


@pytest.mark.parametrize("lang", ["en", "he"])
def test_markup_in_cards_and_messages_is_shown_as_text(chat: Any, server: Any, lang: str) -> None:
    chat.open(lang)
    before = chat.page.evaluate("document.querySelectorAll('script, link, style, iframe, base, meta').length")
    for seq, payload in enumerate(PAYLOADS, 1):
        some = [_filled(card, payload) for card in cards(lang)]
        for card in some:  # the same as a value of the wrong kind
            card["data"]["place"] = card["data"]["rx"] = payload
        server.send(**server.say(seq, payload, lang=lang, cards=some))
    expect(chat.answers).to_have_count(len(PAYLOADS))
    for place, payload in enumerate(PAYLOADS):
        answer = chat.answers.nth(place)
        assert answer.locator(".chat-text").text_content() == payload
        titles = answer.locator(".chat-card-title").all_text_contents()
        assert titles == [payload] * len(cards(lang))
        assert answer.locator(".chat-note").first.text_content() == payload
    inside = "#chat :is(script, style, iframe, object, embed, img, form form, meta, base, video, audio, math)"
    assert chat.page.locator(inside).count() == 0
    assert (
        chat.page.evaluate("document.querySelectorAll('script, link, style, iframe, base, meta').length")
        == before
    )
    links = chat.page.evaluate("[...document.querySelectorAll('.chat-card a')].map((a) => a.href)")
    assert set(links) == {"https://www.google.com/maps/search/?api=1&query=32.113,34.804"}
    handlers = """[...document.querySelectorAll('#chat *')].flatMap((element) => element.getAttributeNames())
      .filter((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc')"""
    assert chat.page.evaluate(handlers) == []
    # `new_chat` fails on any dialog, console error, foreign request or blocked content.


# -- Mixed directions -----------------------------------------------------------------------------------------
SEEN_ORDER = """
(pieces) => {
  // Where each piece of the text is drawn, from left to right, and whether its letters run the right way.
  const hosts = [...document.querySelectorAll(".chat-answer-under-test")];
  return hosts.map((host) => {
    host.style.whiteSpace = "nowrap";
    const nodes = [];
    const walker = document.createTreeWalker(host, NodeFilter.SHOW_TEXT);
    let whole = "";
    while (walker.nextNode()) { nodes.push([whole.length, walker.currentNode]); whole += walker.currentNode.data; }
    const box = (at) => {
      const [start, node] = nodes.findLast(([from]) => from <= at);
      const range = document.createRange();
      range.setStart(node, at - start);
      range.setEnd(node, at - start + 1);
      return range.getClientRects()[0];
    };
    const placed = pieces.map((piece) => {
      const begin = whole.indexOf(piece);
      const boxes = [...piece].map((_, n) => box(begin + n)).filter((each) => each && each.width > 0);
      const middles = boxes.map((each) => (each.left + each.right) / 2);
      const rising = middles.every((x, n) => !n || x > middles[n - 1]);
      const falling = middles.every((x, n) => !n || x < middles[n - 1]);
      const tops = new Set(boxes.map((each) => Math.round(each.top)));
      return {piece, left: Math.min(...boxes.map((b) => b.left)), right: Math.max(...boxes.map((b) => b.right)), rising, falling, lines: tops.size};
    });
    return placed;
  });
}
"""


def _hebrew(text: str) -> bool:
    return any("\u05d0" <= letter <= "\u05ea" for letter in text)


@pytest.mark.parametrize("lang", ["en", "he"])
def test_mixed_directions_are_drawn_in_reading_order(new_chat: Any, make_server: Any, lang: str) -> None:
    chat = new_chat(1280, 900)
    server = make_server(chat.page)
    chat.open(lang)
    samples = [sample for sample in BIDI if sample[0] == lang]
    wrong = []
    for seq, (_, text, pieces) in enumerate(samples, 1):
        data = {"title": text, "rows": [["–", text]], "note": text}
        server.send(**server.say(seq, text, lang=lang, cards=[{"kind": "medication", "data": data}]))
        answer = chat.answers.nth(seq - 1)
        expect(answer).to_be_visible()
        answer.evaluate(
            """(item) => {
              document.querySelectorAll(".chat-answer-under-test").forEach((e) => e.classList.remove("chat-answer-under-test"));
              item.querySelectorAll(".chat-text p, .chat-card-title bdi, dd > bdi, .chat-note").forEach((e) => {
                if (!e.parentElement.closest(".chat-answer-under-test")) e.classList.add("chat-answer-under-test");
              });
            }"""
        )
        assert all(text.count(piece) == 1 for piece in pieces), text
        seen = chat.page.evaluate(SEEN_ORDER, pieces)
        assert len(seen) == 4
        for place, placed in zip(("message", "title", "value", "note"), seen, strict=True):
            apart = all(a["right"] <= b["left"] + 1 for a, b in pairwise(placed))
            runs = all(each["falling"] if _hebrew(each["piece"]) else each["rising"] for each in placed)
            if not apart or not runs or any(each["lines"] > 1 for each in placed):
                drawn = " | ".join(e["piece"] for e in sorted(placed, key=lambda e: e["left"]))
                wrong.append(f"{place}: {text!r} is drawn as {drawn}")
    assert wrong == []
    assert len(BIDI) >= 40


# -- The real server ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lang", "question", "kind", "words"),
    [
        (
            "en",
            "Tell me about Ibuprofen",
            "medication",
            ["Ibuprofen", "OTC", "20 tablets", "Source:", "updated"],
        ),
        ("he", "ספרו לי על אקמולי", "medication", ["אקמולי", "ללא מרשם", "מקור"]),
        ("en", "Do you have Advil in Jaffa?", "stock", ["Florentin", "km", "not reserved"]),
        ("he", "יש לכם אקמול בפלורנטין?", "stock", ["פלורנטין", "מפה", "אינו שמור"]),
        ("en", "Do you have PainAway?", "equivalents", ["IbuTabs", "Possible differences", "packaging"]),
        (
            "en",
            "Can I take warfarin with ibuprofen?",
            "interactions",
            ["Not to be taken together", "Warfarin"],
        ),
        ("he", "אפשר לקחת וורפרין עם איבופרופן?", "interactions", ["אין ליטול יחד"]),
    ],
)
def test_a_real_answer_has_its_card(
    new_chat: Any, lang: str, question: str, kind: str, words: list[str]
) -> None:
    chat = new_chat(390, 844).open(lang)
    card = chat.ask(question).locator(f".chat-card-{kind}")
    for word in words:
        expect(card.first).to_contain_text(word)
    assert chat.page.evaluate(OUTSIDE) == []
    assert chat.page.evaluate(SMALL_LINKS) == []


@pytest.mark.parametrize("level", ["avoid", "caution"])
def test_a_dangerous_pair_marks_its_whole_card(chat: Any, server: Any, level: str) -> None:
    levels = ["caution", level, "same"]
    pairs = [{"names": ["A", "B"], "level": each, "label": each, "text": "Ask."} for each in levels]
    calm = {"kind": "medication", "data": {"title": "Ibuprofen"}}
    alarm = {"kind": "interactions", "data": {"title": "Interactions on file", "pairs": pairs}}
    answer = show(chat, server, "en", [calm, alarm])
    look = """(card) => [getComputedStyle(card).borderTopColor, getComputedStyle(card.querySelector("h4")).color]"""
    plain, marked = (answer.locator(".chat-card").nth(n).evaluate(look) for n in (0, 1))
    colour = {"avoid": "rgb(163, 23, 15)", "caution": "rgb(122, 71, 0)"}[level]
    assert marked == [colour, colour]
    assert plain[0] != colour
    expect(
        answer.locator(f".chat-card h4 .chat-icon-{'avoid' if level == 'avoid' else 'warn'}")
    ).to_be_visible()


TOGETHER = [
    ("he", "לפי העלון נוטלים טבלייה אחת כל 4-6 שעות, עד 1,200 מ״ג ביממה", ["4-6 שעות", "1,200 מ״ג"]),
    ("he", "לשאלות אפשר להתקשר לסניף: 050-1234567 או (03) 555-0104 היום", ["050-1234567", "(03) 555-0104"]),
    ("he", "המינון הוא Advil 200 mg פעם ביום או 200–400 מ״ג", ["200 mg", "200–400 מ״ג"]),
    ("he", "פתוח \u206608:00–17:00\u2069 בסניף, מספר הפנייה הוא H-1006", ["08:00–17:00", "H-1006"]),
    ("he", "סירופ במינון של 120 מ״ג/5 מ״ל לילדים", ["120 מ״ג", "5 מ״ל"]),
    ("en", "One tablet every 4-6 hours, no more than 1,200 mg in a day", ["4-6 hours", "1,200 mg"]),
    ("en", "Call the branch at 03-555-0104 or +972 3-555-0104 today", ["03-555-0104", "+972 3-555-0104"]),
    ("en", "A dose of 200 - 400 mg or a syrup with 120 mg/5 ml", ["200 - 400 mg", "120 mg/5 ml"]),
]
SPLIT = """(whole) => {
  const range = document.createRange();
  const lines = (host, piece) => {
    const walker = document.createTreeWalker(host, NodeFilter.SHOW_TEXT);
    const places = [];
    while (walker.nextNode()) [...walker.currentNode.data].forEach((_, n) => places.push([walker.currentNode, n]));
    const begin = host.textContent.indexOf(piece);
    const tops = places.slice(begin, begin + piece.length).flatMap(([node, n]) => {
      range.setStart(node, n);
      range.setEnd(node, n + 1);
      return [...range.getClientRects()].filter((box) => box.width).map((box) => Math.round(box.bottom / 12));
    });
    return begin < 0 ? -1 : new Set(tops).size;
  };
  const split = [];
  for (let width = 150; width < 340; width += 4) {
    document.querySelectorAll(".chat-text p, .chat-note").forEach((e) => { e.style.inlineSize = `${width}px` });
    for (const selector of [".chat-text p", ".chat-note"])
      for (const piece of whole)
        if (lines(document.querySelector(selector), piece) !== 1) split.push([width, selector, piece]);
  }
  return split;
}"""


@pytest.mark.parametrize(("lang", "text", "whole"), TOGETHER)
def test_amounts_and_phones_are_never_split_between_lines(
    new_chat: Any, make_server: Any, lang: str, text: str, whole: list[str]
) -> None:
    chat = new_chat(390, 844)
    server = make_server(chat.page)
    card = {"kind": "medication", "data": {"title": "–", "note": text}}
    show(chat, server, lang, [card], text)
    assert chat.page.evaluate(SPLIT, whole) == []


PARTED = """(unit) => [...document.querySelectorAll(".chat-table th[scope=row]")].filter((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let before = null;
  let parted = false;
  while (walker.nextNode()) {
    range.selectNodeContents(walker.currentNode);
    const boxes = [...range.getClientRects()];
    if (before && walker.currentNode.data.trim().startsWith(unit)) parted ||= Math.abs(boxes[0].bottom - before.bottom) > 6;
    before = boxes.at(-1);
  }
  return parted;
}).map((cell) => cell.textContent)"""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_dose_in_a_hebrew_table_is_not_split_from_its_unit(
    new_chat: Any, make_server: Any, width: int
) -> None:
    chat = new_chat(width, 844)
    show(chat, make_server(chat.page), "he", cards("he"))
    assert chat.page.locator(".chat-table th[scope=row]", has_text="מ״ג").count() == 8
    assert chat.page.evaluate(PARTED, "מ״ג") == []


def test_a_date_on_a_hebrew_card_begins_at_the_right(chat: Any, server: Any) -> None:
    answer = show(chat, server, "he", cards("he"))
    day = answer.locator(".chat-card-sources .chat-soft")
    expect(day).to_have_text("25.07.2026")
    assert day.evaluate("(e) => getComputedStyle(e).direction") == "rtl"


def test_a_typed_message_keeps_amounts_whole_between_hebrew_words(chat: Any, server: Any) -> None:
    chat.open()
    chat.input.fill("hello שלום 200 mg")
    chat.input.press("Enter")
    said = chat.page.locator(".chat-user .chat-text")
    expect(said).to_have_text("hello שלום 200 mg")
    x = """(said) => ["שלום", "200"].map((word) => {
      const walker = document.createTreeWalker(said, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf(word);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + word.length);
        return range.getBoundingClientRect().left;
      }
    })"""
    hebrew, amount = said.evaluate(x)
    assert hebrew < amount


@pytest.mark.parametrize(
    ("lang", "name", "question"),
    [
        ("en", "Refill Metformin", "Can I refill Metformin?"),
        ("he", "ניפוק נוסף מטפורמין", "אפשר לנפק מטפורמין?"),
    ],
)
def test_a_prescription_has_a_button_that_sends_the_refill_question(
    chat: Any, server: Any, lang: str, name: str, question: str
) -> None:
    answer = show(chat, server, lang, cards(lang))
    button = answer.get_by_role("button", name=name)
    expect(button).to_have_count(1)  # the other prescriptions cannot be refilled
    button.click()
    assert server.wait("message.send")[0]["text"] == question
