"""Jobs of the worker.

A new kind is a module here, or in the package of its subject. To register a kind, add it to `handlers()` in
`kg_api/container.py` and to `JOB_KINDS` in `kg_api/schemas/operations.py`.
"""
