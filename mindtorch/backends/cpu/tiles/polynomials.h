#pragma once

// The float32 polynomials that tiles and generated code share, constant term first. Each is our own
// minimax fit; the function that uses it says of what.
namespace mindtorch::cpu::polynomials {

inline constexpr float kExp[] = {0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.5558a6p-5f, 0x1.123ceep-7f,
                                 0x1.6a4118p-10f};
inline constexpr float kExpm1[] = {0.5f,           0x1.55552cp-3f, 0x1.555502p-5f,
                                   0x1.115672p-7f, 0x1.6d2e9p-10f, 0x1.39288p-13f};
inline constexpr float kLog[] = {0x1.5555a4p-2f, -0x1.000046p-2f, 0x1.996982p-3f, -0x1.54ee44p-3f,
                                 0x1.28831cp-3f, -0x1.0d957p-3f,  0x1.acce14p-4f, -0x1.71a3dep-5f};
inline constexpr float kTanh[] = {-0x1.555554p-2f,  0x1.1110bp-3f,   -0x1.ba051ep-5f,
                                  0x1.652f16p-6f,   -0x1.1ab1b8p-7f, 0x1.9835bep-9f,
                                  -0x1.c404b2p-11f, 0x1.095474p-13f};
inline constexpr float kTanhExp[] = {1.0f,           2.0f,           0x1.fffffcp0f, 0x1.55548cp0f,
                                     0x1.5558a6p-1f, 0x1.123ceep-2f, 0x1.6a4118p-4f};
inline constexpr float kGeluExp[] = {
    1.0f,           -0x1p-1f,         0x1.fffffcp-4f, -0x1.55548cp-6f,
    0x1.5558a6p-9f, -0x1.123ceep-12f, 0x1.6a4118p-16f};
inline constexpr float kGeluTop[] = {0x1p-1f, 0x1.c1063ap-2f, 0x1.7793e8p-3f, 0x1.4d4ap-5f,
                                     0x1.0e44c6p-8f};
inline constexpr float kGeluBottom[] = {1.0f,           0x1.acc54ep0f,  0x1.3400b4p0f,
                                        0x1.e1266cp-2f, 0x1.a1bdf4p-4f, 0x1.52ba48p-7f};
inline constexpr float kErfNear[] = {0x1.06eba8p-3f,  -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
                                     -0x1.b7f71ap-6f, 0x1.53f224p-8f,  -0x1.a3515ep-11f,
                                     0x1.4771fcp-14f};
inline constexpr float kErfFar[] = {0x1.6e751ep-12f, 0x1.2086c8p0f,   0x1.46c20cp-1f,
                                    0x1.a621b6p-4f,  -0x1.656ce8p-6f, 0x1.819f46p-9f,
                                    -0x1.85aeeap-13f};

}  // namespace mindtorch::cpu::polynomials
