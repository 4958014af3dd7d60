"""The page that says what kg is, and what its words mean."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from kg_api.web.ui.links import HELP
from kg_api.web.ui.rendering import render

router = APIRouter(include_in_schema=False)


@router.get(HELP)
def help_page() -> HTMLResponse:
    """Say what kg is."""
    return render("help/page.html", {})
