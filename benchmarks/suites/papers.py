"""Every table and figure of the five documents: printed, ours, difference of protocol, verdict."""

from __future__ import annotations

from benchmarks.papers import cameron, ghanbari, natole, tang, zhang

name = "papers"
title = "The record: every published table and figure beside ours"
sections = (zhang, tang, cameron, ghanbari, natole)
