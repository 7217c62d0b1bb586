"""torch.fx.experimental: of torch's tracer what libraries ask. Nothing is traced."""
