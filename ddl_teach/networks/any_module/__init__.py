"""Any torch module on many ranks, with an ordinary `loss.backward()` and any torch optimizer.

wrap            one line around a module: replicas (stage 0), or sharded by ZeRO's stages 1 to 3
replicas        stage 0: whole weights on every rank, averages in buckets during the backward pass
sharded         stages 1 to 3: each rank owns a part of every unit, and its optimizer updates that
units           what is gathered and summed together: the modules that a module calls
lent            communicators for modules, given back when a module is freed
clipping        the norm of all gradients, wherever they lie
passes          what it needs of torch's backward pass
"""
