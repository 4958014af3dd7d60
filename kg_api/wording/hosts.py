"""Names and addresses of machines."""

from __future__ import annotations

import ipaddress

HOME_HEADER = "KG-Home"
"""Names the home (`Home.instance`) whose service a request is meant for, and in a response whose it is."""


def is_loopback(host: str) -> bool:
    """Whether a host's name stands for this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
