"""A scripted model on loopback and a small story for it."""
