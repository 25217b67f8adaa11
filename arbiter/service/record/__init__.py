"""Reading the log: events, matches, tournaments, and the list entries derived from them."""
