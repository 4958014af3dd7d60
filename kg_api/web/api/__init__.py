"""Routes of the REST API, one module per subject. A new router is listed in `kg_api/web/app.py`."""
