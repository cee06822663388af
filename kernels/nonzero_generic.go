package kernels

// blockK8 is how many k a block of [listBlocks] has: two groups, a turn of the tile that skips blocks.
const blockK8 = 2 * groupK

// listWordsGeneric copies those of words that aren't zero to nonzero, sets list to where their groups lie in a panel,
// and returns how many there are. nonzero and list are as long as words, and undefined from there on.
func listWordsGeneric(list, nonzero, words []uint32) (n int) {
	for g, w := range words {
		if w != 0 {
			list[n], nonzero[n] = uint32(g*groupK*panelCols), w
			n++
		}
	}
	return n
}

// listBlocksGeneric sets list to the k at which blocks of eight begin that aren't zero in all of rows rows of x,
// [rows][ld], of which the first n columns count, and returns how many there are. list has n/8 elements, undefined from
// there on.
func listBlocksGeneric(list []uint32, x []int8, ld, rows, n int) (count int) {
	for k := 0; k < n; k += blockK8 {
		for r := range rows {
			if [blockK8]int8(x[r*ld+k:]) != [blockK8]int8{} {
				list[count] = uint32(k)
				count++
				break
			}
		}
	}
	return count
}
