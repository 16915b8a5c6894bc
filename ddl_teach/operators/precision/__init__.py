"""Half precision: what is lost when numbers have 11 bits, or 8, and how to lose less.

Half the bytes, and many times the speed where the hardware multiplies them. The price has two
parts. *Rounding*: long sums go astray, so one sums in another order (`pairwise`), keeps what is
lost (`compensated`), or accumulates in a wider format (`wider`). *Range*: small gradients become
zero, so the loss is scaled up and the gradients down again (`loss_scaling`), with weights kept in
float32 (`networks.memory.keeping`). Micikevicius et al., "Mixed precision training", ICLR 2018.
"""
