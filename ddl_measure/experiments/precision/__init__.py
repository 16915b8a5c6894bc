"""Half precision: sums and a training that go astray."""
