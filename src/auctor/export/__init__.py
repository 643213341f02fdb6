"""Models for programs without Python: ONNX graphs and SQL queries."""

from auctor.export.converter import register_skl2onnx
from auctor.export.models import to_onnx
from auctor.export.sql import to_sql

__all__ = ["register_skl2onnx", "to_onnx", "to_sql"]
