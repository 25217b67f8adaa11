"""The arbiter's signing keys, and what is made with them: signatures, and seals on stored records."""
