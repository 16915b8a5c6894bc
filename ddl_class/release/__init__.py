"""Release of the course: notebooks are made, handed out and opened in JupyterLab."""
