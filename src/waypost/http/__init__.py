"""The edge: parse a request, call one step, render its answer."""
