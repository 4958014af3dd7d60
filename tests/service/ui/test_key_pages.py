"""The pages of keys and of what was changed, without scripts."""

from __future__ import annotations

import re
import time

import httpx
from lxml.html import document_fromstring

from kg_api.client import KgClient
from tests.service.ui.test_pages import shown, words
from tests.support.running import Service


def test_a_key_is_made_shown_once_replaced_and_revoked(http: httpx.Client, service: Service) -> None:
    fields = {"name": "ada", "scope": "write", "ontologies": "notes, other", "valid_days": "30"}
    made = http.post("/ui/keys", data=fields)
    assert made.status_code == 201
    (key,) = re.findall(r"kg_[0-9a-f]{8}_[\w-]{43}(?=<)", made.text)
    with KgClient(service.url, api_key=key) as client:
        assert client.ontologies().ontologies == []
    page = http.get("/ui/keys")
    assert key not in page.text
    row = " ".join(words(shown(http, "/ui/keys").xpath("//tbody/tr/*")))
    assert "write in notes, other" in row
    assert "active until" in row
    (rotate,) = shown(http, "/ui/keys").xpath("//form/@action[contains(., '/rotate')]")
    replaced = http.post(rotate)
    assert replaced.status_code == 201
    assert key not in replaced.text
    for revoke in shown(http, "/ui/keys").xpath("//a/@href[contains(., '/revoke')]"):
        before = shown(http, revoke)
        assert "is good for write in notes, other" in " ".join(words([before]))
        assert http.post(before.xpath("//main//form/@action")[0], follow_redirects=False).status_code == 303
    assert shown(http, "/ui/keys").xpath("//a/@href[contains(., '/revoke')]") == []
    assert http.get("/ui/keys/00000000/revoke").status_code == 404


def test_what_is_wrong_with_a_key_is_said(http: httpx.Client) -> None:
    wrong = ({"name": ""}, {"scope": "all"}, {"valid_days": "x"}, {"ontologies": ", ,"})
    for fields in ({"name": "ada", **each} for each in wrong):
        refused = http.post("/ui/keys", data=fields)
        assert refused.status_code == 422, fields
        assert 'class="problem"' in refused.text


def test_ontologies_of_a_key_that_are_not_there_are_said(http: httpx.Client) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease."})
    made = http.post("/ui/keys", data={"name": "ada", "ontologies": "notes, note"})
    (note,) = words(document_fromstring(made.text).xpath("//p[@class='note']"))
    assert "no ontology 'note'" in note
    assert "The key is good for it as soon as it is there." in note
    made = http.post("/ui/keys", data={"name": "bob", "ontologies": "notes"})
    assert document_fromstring(made.text).xpath("//p[@class='note']") == []


def test_what_was_changed_is_listed(http: httpx.Client) -> None:
    file = {"file": ("a.md", b"A lease.\n", "text/markdown")}
    http.post("/ui/documents", files=file, data={"ontology": "notes"}, follow_redirects=False)
    until, path = time.monotonic() + 20, "//tbody/tr"
    while "POST /ui/documents" not in (rows := words(shown(http, "/ui/audit").xpath(path)) or [""])[0]:
        assert time.monotonic() < until, rows
        time.sleep(0.2)
    assert "Ingest a document POST /ui/documents" in " ".join(rows[0].split())
    assert "document a.md" in rows[0]
    assert "Nothing was changed with that key" in words(shown(http, "/ui/audit?key=local").xpath("//p"))[-1]
