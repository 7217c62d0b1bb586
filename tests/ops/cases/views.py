"""Cases to come."""

CASES = []
