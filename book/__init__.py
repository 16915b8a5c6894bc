"""The book of the course: units with their outputs, reference, glossary and papers, offline."""
