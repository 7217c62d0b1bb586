#pragma once

#include <cstdint>

namespace mindtorch::cpu {

// From the engine's words to distributions: the part of a fill that needs no order and so runs in
// vectors, chosen for this machine's instruction set at first use. Any n >= 0, any alignment.
//
// Where torch's kernels fuse a product and a sum into one rounding, so do these, on machines that
// can (as can torch's).

// words[i] -> [from, to): the low 24 bits. A result that rounds up to `to` becomes `from`.
void uniform_floats(const uint32_t* words, float* out, int64_t n, float from, float to);
// words[2i] (high half), words[2i + 1] -> [from, to): the low 53 bits, likewise.
void uniform_doubles(const uint32_t* words, double* out, int64_t n, double from, double to);

// Box-Muller, in place, on groups of 16 uniform numbers of [0, 1): the first 8 of a group give the
// radius, the last 8 the angle of 8 pairs of normals. n is a multiple of 16. The floats equal
// torch's to the bit; the doubles do where the C library is the same.
void box_muller(float* values, int64_t n, float mean, float std);
void box_muller(double* values, int64_t n, double mean, double std);

// values[i] = scale * log(1 - values[i]), in place, with an error of about one bit.
void scaled_log_complement(double* values, int64_t n, double scale);

}  // namespace mindtorch::cpu
