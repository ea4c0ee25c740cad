"""Values and decisions.

Nothing in this folder can await, read a clock, a path, the environment or the network: what it needs is passed in.
Read it in this order: errors, handoff, markdown, headings, texts, policy, figures, estimate, meter, transcript,
happened, undone, facts, overflow, rewinding, windows, masking, books, events, runaway, waiting, resets, and
then the four tables that decide: decide, failures, writing, review.
"""
