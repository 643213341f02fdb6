"""Models as ONNX graphs, for programs without Python."""

from auctor.export.models import to_onnx

__all__ = ["to_onnx"]
