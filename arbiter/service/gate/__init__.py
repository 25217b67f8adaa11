"""All calls, for every API; and what each call is checked for first: token, rights, rate and size."""
