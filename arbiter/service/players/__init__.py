"""Accounts: players, tokens, scopes, invitations."""
