"""Well-known networks, as plain short modules.

================ ============================================================ ==================
lenet5           LeNet-5 as of 1998, with its sparse connections              60,000 parameters
alexnet          AlexNet in two columns, and the narrower one of today        60,965,224
vgg16            VGG-16                                                       138,357,544
resnet50         ResNet-50, its stride in either place                        25,557,032
gpt2             GPT-2, the smallest                                          124,439,808
================ ============================================================ ==================

A large one needs no memory where only its shapes matter:

    with torch.device("meta"):
        network, images = VGG16(), torch.empty(16, *IMAGE)
"""
