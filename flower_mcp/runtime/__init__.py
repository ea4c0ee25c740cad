"""Claude sessions: the only code that imports claude_agent_sdk, and the keeper."""
