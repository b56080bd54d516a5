"""Claims of the papers as data, and the rule that compares them with our figures."""
