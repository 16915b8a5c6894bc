"""A trained model at work: requests, caches, and learning from what it says."""
