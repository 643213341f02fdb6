"""Readers of files, chunk by chunk: `auctor.data.open_stream` picks one by the file's format."""
