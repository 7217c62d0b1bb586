"""The operators of torchaudio's compiled library, which is made for torch's C++ and cannot be
loaded here: torch.ops.load_library defines them in its place. What is not computed raises
NotImplementedError.
"""

import mindtorch_v2 as torch
from mindtorch_v2._library.torchvision_ops import refuse


def _lfilter_core_loop(input_signal_windows, a_coeff_flipped, padded_output_waveform):
    """Each sample less what the samples before it, times coefficients, add up to; in place."""
    given = input_signal_windows.detach().cpu().numpy()
    coefficients = a_coeff_flipped.detach().cpu().numpy()
    made = padded_output_waveform.detach().cpu().numpy()
    order = coefficients.shape[1]
    for i in range(given.shape[2]):
        before = (made[:, :, i : i + order] * coefficients).sum(2)
        made[:, :, i + order - 1] = given[:, :, i] - before
    padded_output_waveform.copy_(torch.from_numpy(made))


def _overdrive_core_loop(waveform, temp, last_in, last_out, output_waveform):
    """A filter of one sample behind a distortion; in place."""
    given, bent = waveform.detach().cpu().numpy(), temp.detach().cpu().numpy()
    into, out = (t.detach().cpu().numpy().copy() for t in (last_in, last_out))
    made = output_waveform.detach().cpu().numpy().copy()
    for i in range(given.shape[-1]):
        out = bent[:, i] - into + 0.995 * out
        into = bent[:, i]
        made[:, i] = given[:, i] * 0.5 + out * 0.75
    output_waveform.copy_(torch.from_numpy(made))


_LIBRARIES = {
    "_torchaudio": {
        "cuda_version() -> int?": lambda: None,
        "is_align_available() -> bool": lambda: False,
        "is_rir_available() -> bool": lambda: False,
    },
    "torchaudio": {
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, "
        "Tensor(a!) padded_output_waveform) -> ()": _lfilter_core_loop,
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, "
        "Tensor(b!) last_out, Tensor(c!) output_waveform) -> ()": _overdrive_core_loop,
        "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, "
        "Tensor target_lengths, int blank) -> (Tensor, Tensor)": refuse("torchaudio::forced_align"),
        "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, "
        "Tensor target_lengths, int blank, float clamp, bool fused_log_softmax=True) -> "
        "(Tensor, Tensor)": refuse("torchaudio::rnnt_loss_forward"),
    },
}


def define():
    """Defines the operators; gives the libraries that hold them."""
    made = []
    for name, functions in _LIBRARIES.items():
        library = torch.library.Library(name, "FRAGMENT")
        for schema, function in functions.items():
            library.impl(library.define(schema), function, "CompositeImplicitAutograd")
        made.append(library)
    return made
