"""The commands: the only code that prints, and the one that puts the parts together."""
