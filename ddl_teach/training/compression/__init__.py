"""In what compressor updates travel: how many bytes of a vector are sent, and what is lost.

compressor           bytes for n numbers  unbiased  error / |x|^2, at most  needs a memory

dense                4 n                  yes       0                       no
half                 2 n                  no        2^-22                   no
one_bit              n/8 + 8 a bucket     no        1 - 1/bucket            `Feedback`
qsgd                 b n/8 + 4 a bucket   yes       min(d/s^2, sqrt(d)/s)   no
blocks               b n/8 + 4 a bucket   no        d/(2s)^2                no
terngrad             n/5 + 4 a bucket     unclipped sqrt(d) - 1             no
top_k                k (4 + log2(n)/8)    no        1 - k/n                 `Feedback`
random_k             4 k                  scaled    n/k - 1, or 1 - k/n     unscaled: `Feedback`
threshold            4 for each beyond    no        1                       `Feedback`
nonzero              8 for each not zero  yes       0                       no
powersgd             4 r (rows + columns) no        1                       `Feedback`

`feedback` sends later what was left out, `deep_gradient_compression` adds momentum to that,
`averaging` makes the mean over ranks of vectors in any compressor. `packing` puts bits together.
Bytes are those that travel: bits are packed, and what is fewer in theory only is not counted.
"""
