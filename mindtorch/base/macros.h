#pragma once

// Symbols a user of the shared library may link against; everything else is hidden.
#define MT_API __attribute__((visibility("default")))

#define MT_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define MT_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)
