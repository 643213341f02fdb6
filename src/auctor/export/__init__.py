"""Models as ONNX graphs, for programs without Python."""

from auctor.export.converter import register_skl2onnx
from auctor.export.models import to_onnx

__all__ = ["register_skl2onnx", "to_onnx"]
