"""A model behind an API like OpenAI's, by the official SDK; imported only where one is asked for."""
