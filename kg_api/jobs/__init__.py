"""Jobs of the worker.

A new kind is a module here, or in the package of its subject. It is listed in `handlers()` of
`kg_api/container.py` and in `JOB_KINDS` of `kg_api/schemas/operations.py`.
"""
