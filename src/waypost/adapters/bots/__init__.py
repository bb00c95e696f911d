"""Bots without a model behind them: an echo, a function of the user's, a service of the user's."""
