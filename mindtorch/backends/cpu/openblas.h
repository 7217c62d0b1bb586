#pragma once

// The functions of OpenBLAS that this backend calls, as PyPI's scipy-openblas32 exports them:
// 32-bit sizes, names with the prefix scipy_. Its own header brings C's complex numbers into C++.
extern "C" {

enum { kRowMajor = 101, kNoTrans = 111, kTrans = 112 };

void scipy_openblas_set_num_threads(int count);

void scipy_cblas_cgemm(int order,
                       int trans_a,
                       int trans_b,
                       int m,
                       int n,
                       int k,
                       const void* alpha,
                       const void* a,
                       int lda,
                       const void* b,
                       int ldb,
                       const void* beta,
                       void* c,
                       int ldc);
void scipy_cblas_zgemm(int order,
                       int trans_a,
                       int trans_b,
                       int m,
                       int n,
                       int k,
                       const void* alpha,
                       const void* a,
                       int lda,
                       const void* b,
                       int ldb,
                       const void* beta,
                       void* c,
                       int ldc);

}  // extern "C"
