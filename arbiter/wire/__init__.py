"""Messages to domain values and back; the one table of refusals to status codes."""
