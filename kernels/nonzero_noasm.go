//go:build !amd64 || noasm

package kernels

func listWords(list, nonzero, words []uint32) (n int) { return listWordsGeneric(list, nonzero, words) }

func listBlocks(list []uint32, x []int8, ld, rows, n int) (count int) {
	return listBlocksGeneric(list, x, ld, rows, n)
}
