"""The site's own addresses: the demo page, health, and the HTTP API."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from agent.tools.registry import TOOLS
from agent.web import (
    api,
    embed_pages,
    handoffs,
    health,
    knowledge,
    metrics,
    pages,
    problems,
    refills,
    resources,
)
from agent.web.openapi import SCHEMA_SETTINGS

urlpatterns = [
    path("", pages.demo, name="demo"),
    path("demo/inbox/", pages.inbox, name="inbox"),
    path("demo/shop/", embed_pages.demo_shop, name="demo-shop"),
    path("w/v1/loader.js", embed_pages.loader, name="loader"),
    path("w/v1/sites/<slug:public_id>.js", embed_pages.site_script, name="site-script"),
    path("embed/<slug:public_id>/", embed_pages.frame, name="embed"),
    path("embed/<slug:public_id>/ticket/", embed_pages.ticket, name="embed-ticket"),
    path("continue/", embed_pages.continued, name="continue"),
    path("reply/", embed_pages.replied, name="reply"),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("api/v1/tools/", api.ToolsView.as_view(), name="tools"),
    *(path(f"api/v1/tools/{tool.name}/", api.tool_view(tool), name=f"tool-{tool.name}") for tool in TOOLS),
    path("api/v1/tools/<str:name>/", api.NoToolView.as_view(), name="no-tool"),
    path("api/v1/medications/", resources.MedicationsView.as_view(), name="medications"),
    path("api/v1/stores/", resources.StoresView.as_view(), name="stores"),
    path("api/v1/stock/", resources.StockView.as_view(), name="stock"),
    path("api/v1/refills/", refills.RefillsView.as_view(), name="refills"),
    path("api/v1/refills/<str:number>/", refills.RefillView.as_view(), name="refill"),
    path("api/v1/handoffs/", handoffs.HandoffsView.as_view(), name="handoffs"),
    path("api/v1/handoffs/<str:number>/", handoffs.HandoffView.as_view(), name="handoff"),
    path("api/v1/handoffs/<str:number>/claim/", handoffs.HandoffClaimView.as_view(), name="handoff-claim"),
    path("api/v1/handoffs/<str:number>/decide/", handoffs.HandoffDecideView.as_view(), name="handoff-decide"),
    path("api/v1/handoffs/<str:number>/reply/", handoffs.HandoffReplyView.as_view(), name="handoff-reply"),
    path("api/v1/knowledge/ask/", knowledge.KnowledgeAskView.as_view(), name="knowledge-ask"),
    path("api/schema/", SpectacularAPIView.as_view(custom_settings=SCHEMA_SETTINGS), name="schema"),
    path("api/docs/", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("api/<path:rest>", problems.no_such_address),
]
