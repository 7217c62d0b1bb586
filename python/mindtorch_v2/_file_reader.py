"""torch.PyTorchFileReader: the records of a file that torch.save wrote, one by one."""

import zipfile

import mindtorch_v2 as torch


class PyTorchFileReader:
    """Reads records of a file, given by name or opened.

    >>> torch.save(torch.ones(2), "ones.pt")
    >>> reader = torch.PyTorchFileReader("ones.pt")
    >>> reader.get_storage_from_record("data/0", 2, torch.float32)
    tensor([1., 1.])
    """

    def __init__(self, file):
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: failed finding central directory"
            ) from error
        self._folder = self._zip.namelist()[0].partition("/")[0]

    def archive_name(self):
        """The folder of all records."""
        return self._folder

    def get_all_records(self):
        """The names of all records."""
        return [name.partition("/")[2] for name in self._zip.namelist()]

    def has_record(self, name):
        """Whether there is a record of that name."""
        return name in self.get_all_records()

    def get_record(self, name):
        """The bytes of a record."""
        try:
            return self._zip.read(f"{self._folder}/{name}")
        except KeyError:
            raise RuntimeError(
                "PytorchStreamReader failed locating file "
                f"{name}: file not found in archive {self._folder}"
            ) from None

    def get_storage_from_record(self, name, numel, dtype):
        """A tensor of the first elements of a record."""
        data = bytearray(self.get_record(name))
        dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        if numel == 0:
            return torch.empty(0, dtype=dtype)
        return torch.frombuffer(data, dtype=dtype, count=numel)

    def version(self):
        """The version of the format."""
        return int(self.get_record("version"))
