"""What data pipes share."""
