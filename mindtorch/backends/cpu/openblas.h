#pragma once

// The functions of OpenBLAS that this backend calls, as PyPI's scipy-openblas32 exports them:
// 32-bit sizes, names with the prefix scipy_. Its own header brings C's complex numbers into C++.
extern "C" {

enum { kRowMajor = 101, kNoTrans = 111, kTrans = 112 };

void scipy_openblas_set_num_threads(int count);
const char* scipy_openblas_get_corename(void);

void scipy_cblas_sgemm(int order,
                       int trans_a,
                       int trans_b,
                       int m,
                       int n,
                       int k,
                       float alpha,
                       const float* a,
                       int lda,
                       const float* b,
                       int ldb,
                       float beta,
                       float* c,
                       int ldc);
void scipy_cblas_dgemm(int order,
                       int trans_a,
                       int trans_b,
                       int m,
                       int n,
                       int k,
                       double alpha,
                       const double* a,
                       int lda,
                       const double* b,
                       int ldb,
                       double beta,
                       double* c,
                       int ldc);
void scipy_cblas_sgemv(int order,
                       int trans,
                       int m,
                       int n,
                       float alpha,
                       const float* a,
                       int lda,
                       const float* x,
                       int incx,
                       float beta,
                       float* y,
                       int incy);
void scipy_cblas_dgemv(int order,
                       int trans,
                       int m,
                       int n,
                       double alpha,
                       const double* a,
                       int lda,
                       const double* x,
                       int incx,
                       double beta,
                       double* y,
                       int incy);
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
float scipy_cblas_sdot(int n, const float* x, int incx, const float* y, int incy);
double scipy_cblas_ddot(int n, const double* x, int incx, const double* y, int incy);

}  // extern "C"
