"""One contract suite per port, inherited by the tests of every adapter."""
