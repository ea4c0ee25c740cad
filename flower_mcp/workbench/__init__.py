"""The disk: names, freezing, revisions, locks, books, live state, finding transcripts."""
