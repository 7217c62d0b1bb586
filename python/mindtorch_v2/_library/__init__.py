"""What torch.library is made of: schemas, operators with kernels, custom ops, their checks."""
