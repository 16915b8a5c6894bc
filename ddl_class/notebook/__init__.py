"""What cells of notebooks call besides exercises: animations, races, recorded runs."""
