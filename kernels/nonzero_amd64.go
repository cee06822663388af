//go:build amd64 && !noasm

package kernels

// setBits are the places of the bits that are set in a byte, followed by zeros: the order in which lanes are moved
// together.
var setBits = func() (table [256][8]uint8) {
	for b := range table {
		n := 0
		for i := range uint8(8) {
			if b>>i&1 != 0 {
				table[b][n] = i
				n++
			}
		}
	}
	return table
}()

// The kernels below are those of nonzero_generic.go for n columns, n > 0 and a multiple of 32 bytes, with strides in
// bytes.

//go:noescape
func listWordsAVX2(list, nonzero, words *uint32, n int, setBits *[256][8]uint8) (count int)

//go:noescape
func listBlocksAVX2(list *uint32, x *int8, ld, rows, n int, setBits *[256][8]uint8) (count int)

func listWords(list, nonzero, words []uint32) (n int) {
	if !useAVX2 {
		return listWordsGeneric(list, nonzero, words)
	}
	return listWordsAVX2(&list[0], &nonzero[0], &words[0], 4*len(words), &setBits)
}

func listBlocks(list []uint32, x []int8, ld, rows, n int) (count int) {
	if !useAVX2 {
		return listBlocksGeneric(list, x, ld, rows, n)
	}
	return listBlocksAVX2(&list[0], &x[0], ld, rows, n, &setBits)
}
