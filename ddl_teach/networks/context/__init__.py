"""Context parallelism: the positions of one long text on many ranks.

    layouts         which rank holds which positions
    ring_attention  attention over all of them: keys and values go round, queries stay
    gathering       all keys and values come first, as Llama 3 was trained
    ulysses         ranks change from positions to heads and back; and both ways together

Everything else in a transformer works on one position at a time, so only attention sends messages.
"""
