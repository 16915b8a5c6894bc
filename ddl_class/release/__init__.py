"""How the course reaches learners: notebooks made, handed out and opened in the lab."""
