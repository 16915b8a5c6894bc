"""An embedding of code statements: real data whose gradients are sparse by nature.

spelling     a statement of Python without its names: `_ = len(_)`
corpus       the statements of the standard library's packages, and which follow which
embedding    skip-gram with negative sampling as a task: a step touches few rows
downstream   what the vectors are good for: which package does this function come from?
"""
