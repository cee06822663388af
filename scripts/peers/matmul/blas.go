//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// Numbers of cblas.h.
const (
	cblasRowMajor = 101
	cblasNoTrans  = 111
	cblasTrans    = 112
)

// openBLASLibrary is OpenBLAS as numpy's wheel has it, with 64-bit integers and names of its own.
type openBLASLibrary struct {
	// void cblas_sgemm(order, transA, transB, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)
	sgemm func(order, transA, transB int32, m, n, k int64, alpha float32, a *float32, lda int64, b *float32, ldb int64, beta float32, c *float32, ldc int64)
	// void cblas_sgemv(order, trans, M, N, alpha, A, lda, X, incX, beta, Y, incY)
	sgemv func(order, trans int32, m, n int64, alpha float32, a *float32, lda int64, x *float32, incX int64, beta float32, y *float32, incY int64)
	// void openblas_set_num_threads(int)
	setThreads func(n int32)
	// char *openblas_get_config(void), char *openblas_get_corename(void)
	config, core func() string
}

func openBLAS(file string, threads int) (*openBLASLibrary, error) {
	l := &openBLASLibrary{}
	for name, fn := range map[string]any{
		"scipy_cblas_sgemm64_": &l.sgemm, "scipy_cblas_sgemv64_": &l.sgemv, "scipy_openblas_set_num_threads64_": &l.setThreads,
		"scipy_openblas_get_config64_": &l.config, "scipy_openblas_get_corename64_": &l.core,
	} {
		handle, err := open(file, name)
		if err != nil {
			return nil, err
		}
		purego.RegisterLibFunc(fn, handle, name)
	}
	l.setThreads(int32(threads))
	return l, nil
}

func (l *openBLASLibrary) version() string {
	return fmt.Sprintf("%s, code for %s", strings.Join(strings.Fields(l.config())[:2], " "), l.core())
}

func (l *openBLASLibrary) contenders(s shape, x, w []float32) ([]contender, func(), error) {
	return []contender{{"OpenBLAS f32", 1e-5, &blasProduct{l, s, x, w, make([]float32, s.m*s.n)}}}, func() {}, nil
}

type blasProduct struct {
	library *openBLASLibrary
	s       shape
	x, w, y []float32
}

// multiply takes the function for vectors where x is one, as a program with OpenBLAS would.
func (p *blasProduct) multiply() error {
	m, n, k := int64(p.s.m), int64(p.s.n), int64(p.s.k)
	if m == 1 {
		p.library.sgemv(cblasRowMajor, cblasNoTrans, n, k, 1, &p.w[0], k, &p.x[0], 1, 0, &p.y[0], 1)
		return nil
	}
	p.library.sgemm(cblasRowMajor, cblasNoTrans, cblasTrans, m, n, k, 1, &p.x[0], k, &p.w[0], k, 0, &p.y[0], n)
	return nil
}

func (p *blasProduct) result() ([]float32, error) { return p.y, nil }
