package driver

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrNoBLAS: there is no cuBLASLt that can be used.
var ErrNoBLAS = errors.New("no cuBLASLt")

// BLAS is an opened cuBLASLt. Like the driver it's never closed.
type BLAS struct {
	fn      blasFunctions
	path    string
	version int
	handle  uintptr
}

// blasFunctions are the addresses of cuBLASLt's functions.
type blasFunctions struct {
	getVersion, create, destroy                                 uintptr
	descCreate, descDestroy, descSetAttribute                   uintptr
	layoutCreate, layoutDestroy                                 uintptr
	preferenceCreate, preferenceDestroy, preferenceSetAttribute uintptr
	heuristic, check, matmul                                    uintptr
}

func (f *blasFunctions) all() []symbol {
	return []symbol{
		{"cublasLtGetVersion", &f.getVersion},
		{"cublasLtCreate", &f.create},
		{"cublasLtDestroy", &f.destroy},
		{"cublasLtMatmulDescCreate", &f.descCreate},
		{"cublasLtMatmulDescDestroy", &f.descDestroy},
		{"cublasLtMatmulDescSetAttribute", &f.descSetAttribute},
		{"cublasLtMatrixLayoutCreate", &f.layoutCreate},
		{"cublasLtMatrixLayoutDestroy", &f.layoutDestroy},
		{"cublasLtMatmulPreferenceCreate", &f.preferenceCreate},
		{"cublasLtMatmulPreferenceDestroy", &f.preferenceDestroy},
		{"cublasLtMatmulPreferenceSetAttribute", &f.preferenceSetAttribute},
		{"cublasLtMatmulAlgoGetHeuristic", &f.heuristic},
		{"cublasLtMatmulAlgoCheck", &f.check},
		{"cublasLtMatmul", &f.matmul},
	}
}

// BLASError is a call of cuBLASLt that failed.
type BLASError struct {
	Call   string
	Status int // cublasStatus_t
}

func (e *BLASError) Error() string { return fmt.Sprintf("%s: status %d", e.Call, e.Status) }

func blasCheck(name string, status uintptr) error {
	if int32(status) == 0 {
		return nil
	}
	return &BLASError{Call: name, Status: int(int32(status))}
}

// OpenBLAS finds cuBLASLt: the file or soname that is named, or else one in the usual places that goes with the driver.
// The error is a *[Refusal] that wraps [ErrNoBLAS].
func (d *Driver) OpenBLAS(named string) (*BLAS, error) {
	sonames := []string{"libcublasLt.so.12"}
	if d.version >= 13000 {
		sonames = []string{"libcublasLt.so.13", "libcublasLt.so.12"}
	}
	lib, err := open(named, sonames, append(toolkitFolders, pythonFolders()...))
	if err != nil {
		return nil, &Refusal{Reason: ErrNoBLAS, Cause: err,
			Hint: "pip install nvidia-cublas-cu12, or a CUDA toolkit, brings one"}
	}
	b := &BLAS{path: lib.path}
	if err := lib.resolve(b.fn.all()); err != nil {
		return nil, &Refusal{Reason: ErrNoBLAS, Detail: lib.path, Cause: err}
	}
	b.version = int(call(b.fn.getVersion)) // size_t cublasLtGetVersion(void)
	return b, nil
}

// Path is the file that the library was loaded from.
func (b *BLAS) Path() string { return b.path }

// Version is the library's version, as in "12.8.5".
func (b *BLAS) Version() string {
	return fmt.Sprintf("%d.%d.%d", b.version/10000, b.version/100%100, b.version%100)
}

// Start makes the library ready for the GPU of a context.
func (b *BLAS) Start(*Context) error {
	// cublasLtCreate(cublasLtHandle_t *lightHandle)
	return blasCheck("cublasLtCreate", call(b.fn.create, uintptr(unsafe.Pointer(&b.handle))))
}

// Stop ends the library's use of the GPU.
func (b *BLAS) Stop(*Context) error {
	// cublasLtDestroy(cublasLtHandle_t lightHandle)
	return blasCheck("cublasLtDestroy", call(b.fn.destroy, b.handle))
}

// DataType is how a matrix's elements lie in memory (cudaDataType).
type DataType int32

const (
	Float32  DataType = 0
	Float16  DataType = 2
	BFloat16 DataType = 14
)

// ProductShape describes dst = x wᵀ + bias + residual: x is [M][K], w [N][K], dst and residual
// [M][N], all row-major with rows LD apart.
type ProductShape struct {
	M, N, K            int
	LDX, LDW, LDD, LDR int
	In, Out            DataType // of x and w, and of dst, bias and residual
	Bias, Residual     bool
}

// Numbers of cublasLt.h and cublas_api.h; those of cuBLAS 12.6 and 13.1 are the same.
const (
	compute32F       = 68 // CUBLAS_COMPUTE_32F
	opTranspose      = 1  // CUBLAS_OP_T
	descTransA       = 3  // CUBLASLT_MATMUL_DESC_TRANSA, an int32_t
	descEpilogue     = 7  // CUBLASLT_MATMUL_DESC_EPILOGUE, a uint32_t
	descBias         = 8  // CUBLASLT_MATMUL_DESC_BIAS_POINTER
	epilogueBias     = 4  // CUBLASLT_EPILOGUE_BIAS
	preferMemory     = 1  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, a uint64_t
	preferReduce     = 3  // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, a uint32_t
	preferAlignA     = 5  // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a uint32_t; those of B, C and D follow
	reduceNone       = 0  // CUBLASLT_REDUCTION_SCHEME_NONE
	blasAllocFailed  = 3  // CUBLAS_STATUS_ALLOC_FAILED
	blasNotSupported = 15 // CUBLAS_STATUS_NOT_SUPPORTED
	algorithmSize    = 64 // cublasLtMatmulAlgo_t
	resultSize       = 96 // cublasLtMatmulHeuristicResult_t: the algorithm, its workspace (8), status (4), waves (4), 4 int
)

// OperandAlignment is what every matrix of a product starts on a multiple of, in
// bytes. cuBLASLt would take 256 for granted.
const OperandAlignment = 16

// Plan is how a product of one shape is computed.
type Plan struct {
	b                  *BLAS
	desc, x, w, out, r uintptr
	algorithm          [algorithmSize]byte
	workspace          int // bytes that it needs
	shape              ProductShape
}

// NewPlan finds out how to compute a product. So that the order of additions is the same for any number of rows, none
// is split along K, and the algorithm is the one chosen for rows rows.
func (b *BLAS) NewPlan(c *Context, s ProductShape, rows, workspaceBytes int) (*Plan, error) {
	p := &Plan{b: b, shape: s}
	if err := p.describe(); err != nil {
		p.Close()
		return nil, err
	}
	typical := &Plan{b: b, shape: s}
	typical.shape.M = rows
	defer typical.Close()
	if err := typical.describe(); err != nil {
		p.Close()
		return nil, err
	}
	err := typical.choose(workspaceBytes)
	if err == nil {
		p.algorithm = typical.algorithm
		err = p.check(workspaceBytes)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// describe tells the library what the matrices are. It counts columns first, so what is row-major here is its transpose
// there: it computes dstᵀ [N][M] from w and x as they lie, of which the first is transposed.
func (p *Plan) describe() error {
	f, s := &p.b.fn, &p.shape
	transpose, epilogue := int32(opTranspose), int32(epilogueBias)
	// cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmulDesc, cublasComputeType_t computeType,
	//     cudaDataType_t scaleType)
	err := blasCheck("cublasLtMatmulDescCreate",
		call(f.descCreate, uintptr(unsafe.Pointer(&p.desc)), compute32F, uintptr(Float32)))
	if err != nil {
		return err
	}
	// cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc, cublasLtMatmulDescAttributes_t attr,
	//     const void *buf, size_t sizeInBytes)
	err = blasCheck("cublasLtMatmulDescSetAttribute",
		call(f.descSetAttribute, p.desc, descTransA, uintptr(unsafe.Pointer(&transpose)), 4))
	if err == nil && s.Bias {
		err = blasCheck("cublasLtMatmulDescSetAttribute",
			call(f.descSetAttribute, p.desc, descEpilogue, uintptr(unsafe.Pointer(&epilogue)), 4))
	}
	if err != nil {
		return err
	}
	ldr := s.LDR
	if !s.Residual {
		ldr = s.LDD
	}
	for _, l := range []struct {
		at                *uintptr
		kind              DataType
		rows, columns, ld int
	}{{&p.w, s.In, s.K, s.N, s.LDW}, {&p.x, s.In, s.K, s.M, s.LDX}, {&p.out, s.Out, s.N, s.M, s.LDD},
		{&p.r, s.Out, s.N, s.M, ldr}} {
		var layout uintptr
		// cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *matLayout, cudaDataType type, uint64_t rows,
		//     uint64_t cols, int64_t ld)
		err := blasCheck("cublasLtMatrixLayoutCreate",
			call(f.layoutCreate, uintptr(unsafe.Pointer(&layout)), uintptr(l.kind), uintptr(l.rows),
				uintptr(l.columns), uintptr(l.ld)))
		if err != nil {
			return err
		}
		*l.at = layout
	}
	return nil
}

// choose asks for the best algorithm.
func (p *Plan) choose(workspaceBytes int) error {
	f := &p.b.fn
	var preference uintptr
	// cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref)
	if err := blasCheck("cublasLtMatmulPreferenceCreate",
		call(f.preferenceCreate, uintptr(unsafe.Pointer(&preference)))); err != nil {
		return err
	}
	defer call(f.preferenceDestroy, preference)
	bytes, reduction, alignment := uint64(workspaceBytes), uint32(reduceNone), uint32(OperandAlignment)
	// cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t attr,
	//     const void *buf, size_t sizeInBytes)
	err := blasCheck("cublasLtMatmulPreferenceSetAttribute",
		call(f.preferenceSetAttribute, preference, preferMemory, uintptr(unsafe.Pointer(&bytes)), 8))
	if err == nil {
		err = blasCheck("cublasLtMatmulPreferenceSetAttribute",
			call(f.preferenceSetAttribute, preference, preferReduce, uintptr(unsafe.Pointer(&reduction)), 4))
	}
	for attribute := uintptr(preferAlignA); err == nil && attribute < preferAlignA+4; attribute++ {
		err = blasCheck("cublasLtMatmulPreferenceSetAttribute",
			call(f.preferenceSetAttribute, preference, attribute, uintptr(unsafe.Pointer(&alignment)), 4))
	}
	if err != nil {
		return err
	}
	var result [resultSize]byte
	var found int32
	// cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
	//     cublasLtMatrixLayout_t Adesc, Bdesc, Cdesc, Ddesc, cublasLtMatmulPreference_t preference,
	//     int requestedAlgoCount, cublasLtMatmulHeuristicResult_t results[], int *returnAlgoCount)
	err = blasCheck("cublasLtMatmulAlgoGetHeuristic",
		call(f.heuristic, p.b.handle, p.desc, p.w, p.x, p.r, p.out, preference, 1,
			uintptr(unsafe.Pointer(&result)), uintptr(unsafe.Pointer(&found))))
	if err != nil {
		return err
	}
	if found == 0 {
		return &BLASError{Call: "cublasLtMatmulAlgoGetHeuristic", Status: blasNotSupported}
	}
	copy(p.algorithm[:], result[:])
	return nil
}

// check asks whether the algorithm does for the plan's own shape, and what memory it needs.
func (p *Plan) check(workspaceBytes int) error {
	var result [resultSize]byte
	// cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
	//     cublasLtMatrixLayout_t Adesc, Bdesc, Cdesc, Ddesc, const cublasLtMatmulAlgo_t *algo,
	//     cublasLtMatmulHeuristicResult_t *result)
	err := blasCheck("cublasLtMatmulAlgoCheck", call(p.b.fn.check, p.b.handle, p.desc, p.w, p.x, p.r, p.out,
		uintptr(unsafe.Pointer(&p.algorithm)), uintptr(unsafe.Pointer(&result))))
	if err != nil {
		return err
	}
	p.workspace = int(*(*uint64)(unsafe.Pointer(&result[algorithmSize])))
	if p.workspace > workspaceBytes {
		return &BLASError{Call: "cublasLtMatmulAlgoCheck", Status: blasNotSupported}
	}
	return nil
}

// Operands are the addresses of a product's matrices, multiples of [OperandAlignment]. Residual may be Dst; Bias and
// Residual are used if the plan's shape has them.
type Operands struct {
	Dst, X, W, Bias, Residual DevicePtr
}

// Multiply queues a product. workspace is as large as the plan was told.
func (p *Plan) Multiply(_ *Context, o Operands, workspace DevicePtr, s Stream) error {
	if p.shape.Bias {
		// It is read when the product is queued.
		if err := blasCheck("cublasLtMatmulDescSetAttribute",
			call(p.b.fn.descSetAttribute, p.desc, descBias, uintptr(unsafe.Pointer(&o.Bias)), 8)); err != nil {
			return err
		}
	}
	alpha, beta := float32(1), float32(0)
	if p.shape.Residual {
		beta = 1
	} else {
		o.Residual = o.Dst
	}
	// cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha, const void *A,
	//     cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C,
	//     cublasLtMatrixLayout_t Cdesc, void *D, cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
	//     void *workspace, size_t workspaceSizeInBytes, cudaStream_t stream)
	return blasCheck("cublasLtMatmul", call(p.b.fn.matmul, p.b.handle, p.desc,
		uintptr(unsafe.Pointer(&alpha)), uintptr(o.W), p.w,
		uintptr(o.X), p.x, uintptr(unsafe.Pointer(&beta)), uintptr(o.Residual), p.r,
		uintptr(o.Dst), p.out, uintptr(unsafe.Pointer(&p.algorithm)), uintptr(workspace),
		uintptr(p.workspace), uintptr(s)))
}

// Close lets go of the plan, which no product needs any more.
func (p *Plan) Close() {
	f := &p.b.fn
	for _, layout := range []uintptr{p.x, p.w, p.out, p.r} {
		if layout != 0 {
			call(f.layoutDestroy, layout)
		}
	}
	if p.desc != 0 {
		call(f.descDestroy, p.desc)
	}
	*p = Plan{b: p.b}
}
