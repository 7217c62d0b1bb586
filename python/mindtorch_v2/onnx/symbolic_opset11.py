"""torch.onnx.symbolic_opset11: empty, because there is no exporter."""
