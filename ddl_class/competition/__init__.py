"""A competition of teams: which trains to an accuracy first, on hardware that is given."""
