// Package kernels is hark's arithmetic on float32 slices: matrix products over packed weights with their epilogue,
// attention over one head, layer normalisation, softmax, activations, and the few vector operations that decoding
// needs. It knows nothing of speech.
//
// # Conventions
//
// Matrices are row-major. An argument called ldx is the row stride of x in elements, at least the row's length, so that
// a head's columns inside a wider matrix are passed by slicing. m or rows counts rows, k the summed dimension, n the
// output columns, t the keys of an attention, dh the width of a head. Every function runs on the calling goroutine,
// allocates nothing the caller could see growing, keeps no argument, and is safe for concurrent use on distinct
// outputs; splitting work over cores is engine/cpu's task. A wrong shape is a bug in the caller and panics; values
// never do.
//
// # Tiers
//
// The same op exists in up to three forms on amd64, chosen once at start (see [Tier]): generic Go, compiled everywhere;
// AVX2 with FMA; AVX-512 (F, BW, VL, DQ). Integer products have two more, with VNNI's multiplications of bytes on
// either register size, and bfloat16 one, avx512-bf16. On arm64 there is NEON, and neon-dot with SDOT's products of
// bytes. HARK_CPU=generic, avx2, avx2-vnni, avx512, avx512-vnni, avx512-bf16, neon or neon-dot forces a tier, so that
// one machine tests them all; NEON is tested in an emulator where there is one. The build tag noasm leaves the assembly
// out. Tiers may differ in the last bits, since they add in another order. Within a tier a row's result depends on that
// row alone: not on how many rows stand in the call, nor on where a caller cuts rows or columns between threads, so a
// clip gets the same text alone and in any batch. Two habits keep that promise: every output of a product is one chain
// of fused multiply-adds over ascending k whatever tile computes it, and vector tails are masked or padded, never left
// to scalar code.
//
// # How a product runs
//
// Weights are packed once ([PackF32]) in panels of 16 columns: [N/16][K][16], so that the inner loop reads one stream.
// A tile keeps up to 6x16 (AVX2) or 12x32 (AVX-512) sums in registers and adds, for each k, the outer product of a
// column of x and a row of the panel. [MatMul] cuts rows, columns and k into blocks that fit the second-level cache,
// copies a block of x where its rows would otherwise fall on the same cache sets, and runs bias, activation and
// residual on the block while it is still near. With few rows (decoding) nothing is copied and each weight is read from
// memory once for all rows; such calls run at the memory's speed. Weights that are all halves (binary16), as published
// models' mostly are, are kept so, which is half of the memory; results are the same. Weights may be rounded to
// bfloat16 ([PackBF16]); then they are multiplied in pairs where the tier has such products. The scheme is that of K.
// Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
//
// [MatMulI8] is the same with integers, exact and four times as fast where the CPU has VNNI: weights in bytes
// ([PackI8]), [N/16][K/4][16][4], and rows that are made integers first ([Quantised]). A tile keeps its sums in
// registers from the first k to the last. AVX2 and AVX-512 without VNNI add products of bytes in 16 bits first, for
// which rows have seven bits instead of eight; see sevens.go.
//
// Attention keeps a block of query rows' scores against all keys in the second-level cache, so it needs no running
// softmax.
//
// The assembly is generated: see _gen. One call of it is bounded to some tens of microseconds, since it can't be
// preempted.
package kernels

//go:generate go run -C _gen .
