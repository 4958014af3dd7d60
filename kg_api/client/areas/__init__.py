"""The calls of the service by area: a function for each, and under the same name a method of both clients."""
