"""One deck a part, its code and figures taken from the library when it is built."""
