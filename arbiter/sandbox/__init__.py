"""Bots in processes of their own: what they see, what they may do, how much they may use."""
