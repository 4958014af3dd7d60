"""Routes of the REST API by subject. To add a router, list it in `kg_api/web/app.py`."""
