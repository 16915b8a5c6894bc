"""The published site: a browser edition of the course, and its book, decks and guides."""
