"""torch.onnx.symbolic_opset9: empty, because there is no exporter."""
