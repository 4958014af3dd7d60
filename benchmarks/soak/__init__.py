"""Hours of use in minutes: whether memory, handles and connections stay flat."""
