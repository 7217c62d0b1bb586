#pragma once

#include <complex>

// The functions of LAPACK that this backend calls, once for each scalar type, as C++ overloads.
// They are OpenBLAS's own (openblas.h). Matrices are column-major: columns are contiguous, and
// `ld` elements apart. The result is LAPACK's info: 0, or which step failed; below 0, an argument
// that was refused.
//
// Those with a `work` argument ask for its length by lwork = -1 and answer in work[0].
extern "C" {

// X: the type's letter; T: the scalar type; R: its real type. O and H: how names begin where real
// and complex functions differ (orgqr, ungqr; sytrf, hetrf).
#define MT_LAPACK_DECLARE(X, T, O)                                                                \
  int scipy_LAPACKE_##X##getrf_work(int, int, int, T*, int, int*);                                \
  int scipy_LAPACKE_##X##getrs_work(int, char, int, int, const T*, int, const int*, T*, int);     \
  int scipy_LAPACKE_##X##getri_work(int, int, T*, int, const int*, T*, int);                      \
  int scipy_LAPACKE_##X##potrf_work(int, char, int, T*, int);                                     \
  int scipy_LAPACKE_##X##sytrf_work(int, char, int, T*, int, int*, T*, int);                      \
  int scipy_LAPACKE_##X##sytrs_work(int, char, int, int, const T*, int, const int*, T*, int);     \
  int scipy_LAPACKE_##X##geqrf_work(int, int, int, T*, int, T*, T*, int);                         \
  int scipy_LAPACKE_##X##O##gqr_work(int, int, int, int, T*, int, const T*, T*, int);             \
  int scipy_LAPACKE_##X##O##mqr_work(int, char, char, int, int, int, const T*, int, const T*, T*, \
                                     int, T*, int);                                               \
  int scipy_LAPACKE_##X##gels_work(int, char, int, int, int, T*, int, T*, int, T*, int);
MT_LAPACK_DECLARE(s, float, or)
MT_LAPACK_DECLARE(d, double, or)
MT_LAPACK_DECLARE(c, std::complex<float>, un)
MT_LAPACK_DECLARE(z, std::complex<double>, un)
#undef MT_LAPACK_DECLARE

#define MT_LAPACK_DECLARE(X, T)                                                                    \
  int scipy_LAPACKE_##X##syevd_work(int, char, char, int, T*, int, T*, T*, int, int*, int);        \
  int scipy_LAPACKE_##X##gesdd_work(int, char, int, int, T*, int, T*, T*, int, T*, int, T*, int,   \
                                    int*);                                                         \
  int scipy_LAPACKE_##X##geev_work(int, char, char, int, T*, int, T*, T*, T*, int, T*, int, T*,    \
                                   int);                                                           \
  int scipy_LAPACKE_##X##gelsd_work(int, int, int, int, T*, int, T*, int, T*, T, int*, T*, int,    \
                                    int*);                                                         \
  int scipy_LAPACKE_##X##gelss_work(int, int, int, int, T*, int, T*, int, T*, T, int*, T*, int);   \
  int scipy_LAPACKE_##X##gelsy_work(int, int, int, int, T*, int, T*, int, int*, T, int*, T*, int); \
  int scipy_LAPACKE_##X##sytrd_work(int, char, int, T*, int, T*, T*, T*, T*, int);                 \
  int scipy_LAPACKE_##X##stedc_work(int, char, int, T*, T*, T*, int, T*, int, int*, int);          \
  int scipy_LAPACKE_##X##gebrd_work(int, int, int, T*, int, T*, T*, T*, T*, T*, int);              \
  int scipy_LAPACKE_##X##bdsdc_work(int, char, char, int, T*, T*, T*, int, T*, int, T*, int*, T*,  \
                                    int*);                                                         \
  int scipy_LAPACKE_##X##larfg_work(int, T*, T*, int, T*);                                         \
  int scipy_LAPACKE_##X##geqp3_work(int, int, int, T*, int, int*, T*, T*, int);                    \
  void scipy_##X##laic1_(const int*, const int*, const T*, const T*, const T*, const T*, T*, T*,   \
                         T*);                                                                      \
  void scipy_cblas_##X##trsm(int, int, int, int, int, int, int, T, const T*, int, T*, int);
MT_LAPACK_DECLARE(s, float)
MT_LAPACK_DECLARE(d, double)
#undef MT_LAPACK_DECLARE

#define MT_LAPACK_DECLARE(X, R)                                                                    \
  int scipy_LAPACKE_##X##hetrf_work(int, char, int, std::complex<R>*, int, int*, std::complex<R>*, \
                                    int);                                                          \
  int scipy_LAPACKE_##X##hetrs_work(int, char, int, int, const std::complex<R>*, int, const int*,  \
                                    std::complex<R>*, int);                                        \
  int scipy_LAPACKE_##X##heevd_work(int, char, char, int, std::complex<R>*, int, R*,               \
                                    std::complex<R>*, int, R*, int, int*, int);                    \
  int scipy_LAPACKE_##X##gesdd_work(int, char, int, int, std::complex<R>*, int, R*,                \
                                    std::complex<R>*, int, std::complex<R>*, int,                  \
                                    std::complex<R>*, int, R*, int*);                              \
  int scipy_LAPACKE_##X##geev_work(int, char, char, int, std::complex<R>*, int, std::complex<R>*,  \
                                   std::complex<R>*, int, std::complex<R>*, int, std::complex<R>*, \
                                   int, R*);                                                       \
  int scipy_LAPACKE_##X##gelsd_work(int, int, int, int, std::complex<R>*, int, std::complex<R>*,   \
                                    int, R*, R, int*, std::complex<R>*, int, R*, int*);            \
  int scipy_LAPACKE_##X##gelss_work(int, int, int, int, std::complex<R>*, int, std::complex<R>*,   \
                                    int, R*, R, int*, std::complex<R>*, int, R*);                  \
  int scipy_LAPACKE_##X##gelsy_work(int, int, int, int, std::complex<R>*, int, std::complex<R>*,   \
                                    int, int*, R, int*, std::complex<R>*, int, R*);                \
  void scipy_cblas_##X##trsm(int, int, int, int, int, int, int, const void*, const void*, int,     \
                             void*, int);
MT_LAPACK_DECLARE(c, float)
MT_LAPACK_DECLARE(z, double)
#undef MT_LAPACK_DECLARE

}  // extern "C"

namespace mindtorch::cpu::lapack {

inline constexpr int kColumnMajor = 102;

// cblas's names of the same things.
enum class Op : int { kNone = 111, kTranspose = 112, kAdjoint = 113 };
enum class Triangle : int { kUpper = 121, kLower = 122 };
enum class Diagonal : int { kStored = 131, kOnes = 132 };
enum class Side : int { kLeft = 141, kRight = 142 };

inline char letter(Op op) { return op == Op::kNone ? 'N' : op == Op::kTranspose ? 'T' : 'C'; }
inline char letter(Triangle triangle) { return triangle == Triangle::kUpper ? 'U' : 'L'; }
inline char letter(Side side) { return side == Side::kLeft ? 'L' : 'R'; }

#define MT_LAPACK_WRAP(X, T, O)                                                                   \
  inline int getrf(int m, int n, T* a, int ld, int* pivots) {                                     \
    return scipy_LAPACKE_##X##getrf_work(kColumnMajor, m, n, a, ld, pivots);                      \
  }                                                                                               \
  inline int getrs(Op op, int n, int columns, const T* lu, int ld, const int* pivots, T* b,       \
                   int ldb) {                                                                     \
    return scipy_LAPACKE_##X##getrs_work(kColumnMajor, letter(op), n, columns, lu, ld, pivots, b, \
                                         ldb);                                                    \
  }                                                                                               \
  inline int getri(int n, T* lu, int ld, const int* pivots, T* work, int lwork) {                 \
    return scipy_LAPACKE_##X##getri_work(kColumnMajor, n, lu, ld, pivots, work, lwork);           \
  }                                                                                               \
  inline int potrf(Triangle triangle, int n, T* a, int ld) {                                      \
    return scipy_LAPACKE_##X##potrf_work(kColumnMajor, letter(triangle), n, a, ld);               \
  }                                                                                               \
  inline int sytrf(Triangle triangle, int n, T* a, int ld, int* pivots, T* work, int lwork) {     \
    return scipy_LAPACKE_##X##sytrf_work(kColumnMajor, letter(triangle), n, a, ld, pivots, work,  \
                                         lwork);                                                  \
  }                                                                                               \
  inline int sytrs(Triangle triangle, int n, int columns, const T* ld_factor, int ld,             \
                   const int* pivots, T* b, int ldb) {                                            \
    return scipy_LAPACKE_##X##sytrs_work(kColumnMajor, letter(triangle), n, columns, ld_factor,   \
                                         ld, pivots, b, ldb);                                     \
  }                                                                                               \
  inline int geqrf(int m, int n, T* a, int ld, T* tau, T* work, int lwork) {                      \
    return scipy_LAPACKE_##X##geqrf_work(kColumnMajor, m, n, a, ld, tau, work, lwork);            \
  }                                                                                               \
  inline int orgqr(int m, int n, int k, T* a, int ld, const T* tau, T* work, int lwork) {         \
    return scipy_LAPACKE_##X##O##gqr_work(kColumnMajor, m, n, k, a, ld, tau, work, lwork);        \
  }                                                                                               \
  inline int ormqr(Side side, Op op, int m, int n, int k, const T* a, int ld, const T* tau, T* c, \
                   int ldc, T* work, int lwork) {                                                 \
    return scipy_LAPACKE_##X##O##mqr_work(kColumnMajor, letter(side), letter(op), m, n, k, a, ld, \
                                          tau, c, ldc, work, lwork);                              \
  }                                                                                               \
  inline int gels(int m, int n, int columns, T* a, int ld, T* b, int ldb, T* work, int lwork) {   \
    return scipy_LAPACKE_##X##gels_work(kColumnMajor, 'N', m, n, columns, a, ld, b, ldb, work,    \
                                        lwork);                                                   \
  }
MT_LAPACK_WRAP(s, float, or)
MT_LAPACK_WRAP(d, double, or)
MT_LAPACK_WRAP(c, std::complex<float>, un)
MT_LAPACK_WRAP(z, std::complex<double>, un)
#undef MT_LAPACK_WRAP

// Where the complex functions need room for real numbers (`real_work`), the real ones ignore it.
#define MT_LAPACK_WRAP(X, T)                                                                       \
  inline int hetrf(Triangle triangle, int n, T* a, int ld, int* pivots, T* work, int lwork) {      \
    return sytrf(triangle, n, a, ld, pivots, work, lwork);                                         \
  }                                                                                                \
  inline int hetrs(Triangle triangle, int n, int columns, const T* a, int ld, const int* pivots,   \
                   T* b, int ldb) {                                                                \
    return sytrs(triangle, n, columns, a, ld, pivots, b, ldb);                                     \
  }                                                                                                \
  inline int heevd(bool vectors, Triangle triangle, int n, T* a, int ld, T* values, T* work,       \
                   int lwork, T*, int, int* int_work, int int_length) {                            \
    return scipy_LAPACKE_##X##syevd_work(kColumnMajor, vectors ? 'V' : 'N', letter(triangle), n,   \
                                         a, ld, values, work, lwork, int_work, int_length);        \
  }                                                                                                \
  inline int gesdd(char job, int m, int n, T* a, int ld, T* s, T* u, int ldu, T* vh, int ldvh,     \
                   T* work, int lwork, T*, int* int_work) {                                        \
    return scipy_LAPACKE_##X##gesdd_work(kColumnMajor, job, m, n, a, ld, s, u, ldu, vh, ldvh,      \
                                         work, lwork, int_work);                                   \
  }                                                                                                \
  inline int gelsd(int m, int n, int columns, T* a, int ld, T* b, int ldb, T* s, T rcond,          \
                   int* rank, T* work, int lwork, T*, int* int_work) {                             \
    return scipy_LAPACKE_##X##gelsd_work(kColumnMajor, m, n, columns, a, ld, b, ldb, s, rcond,     \
                                         rank, work, lwork, int_work);                             \
  }                                                                                                \
  inline int gelss(int m, int n, int columns, T* a, int ld, T* b, int ldb, T* s, T rcond,          \
                   int* rank, T* work, int lwork, T*) {                                            \
    return scipy_LAPACKE_##X##gelss_work(kColumnMajor, m, n, columns, a, ld, b, ldb, s, rcond,     \
                                         rank, work, lwork);                                       \
  }                                                                                                \
  inline int gelsy(int m, int n, int columns, T* a, int ld, T* b, int ldb, int* order, T rcond,    \
                   int* rank, T* work, int lwork, T*) {                                            \
    return scipy_LAPACKE_##X##gelsy_work(kColumnMajor, m, n, columns, a, ld, b, ldb, order, rcond, \
                                         rank, work, lwork);                                       \
  }                                                                                                \
  inline int sytrd(int n, T* a, int ld, T* diagonal, T* beside, T* tau, T* work, int lwork) {      \
    return scipy_LAPACKE_##X##sytrd_work(kColumnMajor, 'L', n, a, ld, diagonal, beside, tau, work, \
                                         lwork);                                                   \
  }                                                                                                \
  inline int stedc(int n, T* diagonal, T* beside, T* vectors, int ld, T* work, int lwork,          \
                   int* int_work, int int_length) {                                                \
    return scipy_LAPACKE_##X##stedc_work(kColumnMajor, 'I', n, diagonal, beside, vectors, ld,      \
                                         work, lwork, int_work, int_length);                       \
  }                                                                                                \
  inline int gebrd(int m, int n, T* a, int ld, T* diagonal, T* beside, T* tau_q, T* tau_p,         \
                   T* work, int lwork) {                                                           \
    return scipy_LAPACKE_##X##gebrd_work(kColumnMajor, m, n, a, ld, diagonal, beside, tau_q,       \
                                         tau_p, work, lwork);                                      \
  }                                                                                                \
  inline int bdsdc(int n, T* diagonal, T* beside, T* u, int ldu, T* vh, int ldvh, T* work,         \
                   int* int_work) {                                                                \
    return scipy_LAPACKE_##X##bdsdc_work(kColumnMajor, 'U', 'I', n, diagonal, beside, u, ldu, vh,  \
                                         ldvh, nullptr, nullptr, work, int_work);                  \
  }                                                                                                \
  inline int geqp3(int m, int n, T* a, int ld, int* order, T* tau, T* work, int lwork) {           \
    return scipy_LAPACKE_##X##geqp3_work(kColumnMajor, m, n, a, ld, order, tau, work, lwork);      \
  }                                                                                                \
  /* The largest or smallest singular value of a triangle with one more column (w, gamma). */      \
  inline void laic1(bool smallest, int n, const T* x, T estimate, const T* w, T gamma,             \
                    T* next_estimate, T* sine, T* cosine) {                                        \
    const int job = smallest ? 2 : 1;                                                              \
    scipy_##X##laic1_(&job, &n, x, &estimate, w, &gamma, next_estimate, sine, cosine);             \
  }                                                                                                \
  inline void larfg(int n, T* alpha, T* x, int step, T* tau) {                                     \
    scipy_LAPACKE_##X##larfg_work(n, alpha, x, step, tau);                                         \
  }                                                                                                \
  inline int geev(bool vectors, int n, T* a, int ld, T* real_values, T* imaginary_values, T* vr,   \
                  int ldvr, T* work, int lwork) {                                                  \
    return scipy_LAPACKE_##X##geev_work(kColumnMajor, 'N', vectors ? 'V' : 'N', n, a, ld,          \
                                        real_values, imaginary_values, nullptr, 1, vr, ldvr, work, \
                                        lwork);                                                    \
  }                                                                                                \
  inline void trsm(Side side, Triangle triangle, Op op, Diagonal diagonal, int m, int n,           \
                   const T* a, int ld, T* b, int ldb) {                                            \
    scipy_cblas_##X##trsm(kColumnMajor, static_cast<int>(side), static_cast<int>(triangle),        \
                          static_cast<int>(op), static_cast<int>(diagonal), m, n, T{1}, a, ld, b,  \
                          ldb);                                                                    \
  }
MT_LAPACK_WRAP(s, float)
MT_LAPACK_WRAP(d, double)
#undef MT_LAPACK_WRAP

#define MT_LAPACK_WRAP(X, R)                                                                       \
  inline int hetrf(Triangle triangle, int n, std::complex<R>* a, int ld, int* pivots,              \
                   std::complex<R>* work, int lwork) {                                             \
    return scipy_LAPACKE_##X##hetrf_work(kColumnMajor, letter(triangle), n, a, ld, pivots, work,   \
                                         lwork);                                                   \
  }                                                                                                \
  inline int hetrs(Triangle triangle, int n, int columns, const std::complex<R>* a, int ld,        \
                   const int* pivots, std::complex<R>* b, int ldb) {                               \
    return scipy_LAPACKE_##X##hetrs_work(kColumnMajor, letter(triangle), n, columns, a, ld,        \
                                         pivots, b, ldb);                                          \
  }                                                                                                \
  inline int heevd(bool vectors, Triangle triangle, int n, std::complex<R>* a, int ld, R* values,  \
                   std::complex<R>* work, int lwork, R* real_work, int real_length, int* int_work, \
                   int int_length) {                                                               \
    return scipy_LAPACKE_##X##heevd_work(kColumnMajor, vectors ? 'V' : 'N', letter(triangle), n,   \
                                         a, ld, values, work, lwork, real_work, real_length,       \
                                         int_work, int_length);                                    \
  }                                                                                                \
  inline int gesdd(char job, int m, int n, std::complex<R>* a, int ld, R* s, std::complex<R>* u,   \
                   int ldu, std::complex<R>* vh, int ldvh, std::complex<R>* work, int lwork,       \
                   R* real_work, int* int_work) {                                                  \
    return scipy_LAPACKE_##X##gesdd_work(kColumnMajor, job, m, n, a, ld, s, u, ldu, vh, ldvh,      \
                                         work, lwork, real_work, int_work);                        \
  }                                                                                                \
  inline int gelsd(int m, int n, int columns, std::complex<R>* a, int ld, std::complex<R>* b,      \
                   int ldb, R* s, R rcond, int* rank, std::complex<R>* work, int lwork,            \
                   R* real_work, int* int_work) {                                                  \
    return scipy_LAPACKE_##X##gelsd_work(kColumnMajor, m, n, columns, a, ld, b, ldb, s, rcond,     \
                                         rank, work, lwork, real_work, int_work);                  \
  }                                                                                                \
  inline int gelss(int m, int n, int columns, std::complex<R>* a, int ld, std::complex<R>* b,      \
                   int ldb, R* s, R rcond, int* rank, std::complex<R>* work, int lwork,            \
                   R* real_work) {                                                                 \
    return scipy_LAPACKE_##X##gelss_work(kColumnMajor, m, n, columns, a, ld, b, ldb, s, rcond,     \
                                         rank, work, lwork, real_work);                            \
  }                                                                                                \
  inline int gelsy(int m, int n, int columns, std::complex<R>* a, int ld, std::complex<R>* b,      \
                   int ldb, int* order, R rcond, int* rank, std::complex<R>* work, int lwork,      \
                   R* real_work) {                                                                 \
    return scipy_LAPACKE_##X##gelsy_work(kColumnMajor, m, n, columns, a, ld, b, ldb, order, rcond, \
                                         rank, work, lwork, real_work);                            \
  }                                                                                                \
  inline int geev(bool vectors, int n, std::complex<R>* a, int ld, std::complex<R>* values,        \
                  std::complex<R>* vr, int ldvr, std::complex<R>* work, int lwork, R* real_work) { \
    return scipy_LAPACKE_##X##geev_work(kColumnMajor, 'N', vectors ? 'V' : 'N', n, a, ld, values,  \
                                        nullptr, 1, vr, ldvr, work, lwork, real_work);             \
  }                                                                                                \
  inline void trsm(Side side, Triangle triangle, Op op, Diagonal diagonal, int m, int n,           \
                   const std::complex<R>* a, int ld, std::complex<R>* b, int ldb) {                \
    const std::complex<R> one(1);                                                                  \
    scipy_cblas_##X##trsm(kColumnMajor, static_cast<int>(side), static_cast<int>(triangle),        \
                          static_cast<int>(op), static_cast<int>(diagonal), m, n, &one, a, ld, b,  \
                          ldb);                                                                    \
  }
MT_LAPACK_WRAP(c, float)
MT_LAPACK_WRAP(z, double)
#undef MT_LAPACK_WRAP

}  // namespace mindtorch::cpu::lapack
