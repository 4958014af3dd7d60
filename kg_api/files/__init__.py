"""Files on this machine, whoever they belong to."""
