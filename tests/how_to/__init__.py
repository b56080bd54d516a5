"""Every how-to is followed word for word, as a user would: its files are written, its commands run."""
