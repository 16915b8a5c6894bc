"""Methods of convolution over a row of problems."""
