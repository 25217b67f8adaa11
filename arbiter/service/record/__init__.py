"""What is read back from the log: events, matches, tournaments, and what lists show of them."""
