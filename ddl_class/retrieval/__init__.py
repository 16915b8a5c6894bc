"""Short questions: reviews, clickers for a class, a test before and after the course."""
