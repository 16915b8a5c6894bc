"""The labs' paper: what a learner hands in, and how it is marked."""
