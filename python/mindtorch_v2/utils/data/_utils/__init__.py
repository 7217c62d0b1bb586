"""The parts of DataLoader."""

from . import collate, fetch, pin_memory, worker
