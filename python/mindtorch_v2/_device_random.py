"""The random numbers of one kind of device: seeds, and the states of the default generators."""

from mindtorch_v2 import _C
from mindtorch_v2._memory import Devices


class RandomFunctions(Devices):
    """The functions of a device's module that are about random numbers, as methods.

    Seeds may be set where there is no device: nothing is there to be seeded.
    """

    def _generator(self, device=None):
        index = self._index(device)
        return _C._default_generator(_C.device(self._kind, index))

    def _generators(self):
        return [self._generator(index) for index in range(_C._device_count(self._kind))]

    def manual_seed(self, seed):
        """Starts the random numbers of the current device over from a seed."""
        if _C._device_count(self._kind):
            self._generator().manual_seed(int(seed))

    def manual_seed_all(self, seed):
        """Starts the random numbers of all devices over from one seed."""
        for generator in self._generators():
            generator.manual_seed(int(seed))

    def seed(self):
        """Starts the random numbers of the current device over from a seed the system picks."""
        if _C._device_count(self._kind):
            self._generator().seed()

    def seed_all(self):
        """Starts the random numbers of all devices over from one seed the system picks."""
        generators = self._generators()
        if generators:
            self.manual_seed_all(generators[0].seed())

    def initial_seed(self):
        """The seed the random numbers of the current device started from."""
        return self._generator().initial_seed()

    def get_rng_state(self, device=None):
        """The state of a device's random numbers, as a ByteTensor: seed and offset."""
        return self._generator(device).get_state()

    def set_rng_state(self, new_state, device=None):
        """Goes on from a state that get_rng_state gave."""
        self._generator(device).set_state(new_state)

    def get_rng_state_all(self):
        """The states of all devices."""
        return [generator.get_state() for generator in self._generators()]

    def set_rng_state_all(self, new_states):
        """Goes on from states that get_rng_state_all gave."""
        for generator, state in zip(self._generators(), new_states, strict=False):
            generator.set_state(state)
