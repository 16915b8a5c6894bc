"""The classroom: what surrounds the lessons, from opening the notebooks to the doctor."""
