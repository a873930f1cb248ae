"""`{% chat_files "demo" %}`: the stylesheet and the script of a page with the chat."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agent.web.page_files import page_file_url

register = template.Library()


@register.simple_tag
def chat_files(page: str) -> SafeString:
    """The tags for a page's `<head>`; pages are named in `agent/web/page_files.py`."""
    return format_html(
        '<link rel="stylesheet" href="{}">\n  <script type="module" src="{}"></script>',
        page_file_url(page, "css"),
        page_file_url(page, "js"),
    )
