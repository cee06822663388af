package cuda

import (
	"errors"
	"testing"
)

// fuzzLimit is the memory that a fuzzed arena may have.
const fuzzLimit = 1 << 16

// FuzzArena makes and frees blocks as the bytes say. Blocks never overlap, lie in memory that is there, keep what was
// written to them, and what is free is found again.
func FuzzArena(f *testing.F) {
	f.Add([]byte{1, 2, 3, 128, 129, 4, 130})
	f.Add([]byte{100, 100, 100, 128, 130, 129, 120, 128})
	f.Add([]byte{127, 127, 127, 127, 127, 128, 128, 128, 128, 128})
	f.Fuzz(func(t *testing.T, steps []byte) {
		full := errors.New("full")
		below := map[uint64]int64{} // regions
		held, next := int64(0), uint64(alignment)
		a := arena{regionBytes: 4096}
		a.newRegion = func(bytes int64) (uint64, error) {
			if held+bytes > fuzzLimit {
				return 0, full
			}
			address := next
			below[address], held, next = bytes, held+bytes, next+uint64(bytes)+alignment
			return address, nil
		}
		a.endRegion = func(address uint64) error {
			held -= below[address]
			delete(below, address)
			return nil
		}
		var blocks []block
		for _, s := range steps {
			if s >= 128 && len(blocks) > 0 {
				i := int(s-128) % len(blocks)
				if err := a.release(blocks[i]); err != nil {
					t.Fatal(err)
				}
				blocks = append(blocks[:i], blocks[i+1:]...)
			} else if s < 128 {
				want := int64(s) * 97
				b, err := a.alloc(want)
				if err == nil {
					if b.bytes < want || b.address%alignment != 0 {
						t.Fatalf("%d bytes at %d for %d", b.bytes, b.address, want)
					}
					blocks = append(blocks, b)
				} else if a.held()+want+alignment <= fuzzLimit {
					t.Fatalf("no room for %d beside %d", want, a.held())
				}
			}
			checkArena(t, &a, blocks, below)
		}
		for _, b := range blocks {
			if err := a.release(b); err != nil {
				t.Fatal(err)
			}
		}
		if len(below) != 0 || a.used != 0 || len(a.regions) != 0 {
			t.Fatalf("%d regions and %d bytes are left", len(below), a.used)
		}
	})
}

// checkArena holds an arena's own account to that of its user.
func checkArena(t *testing.T, a *arena, blocks []block, below map[uint64]int64) {
	t.Helper()
	used := int64(0)
	for i, b := range blocks {
		used += b.bytes
		if size, ok := below[b.region.address]; !ok || b.address < b.region.address || b.address+uint64(b.bytes) > b.region.address+uint64(size) {
			t.Fatalf("block %d leaves its region", i)
		}
		for _, other := range blocks[:i] {
			if b.address < other.address+uint64(other.bytes) && other.address < b.address+uint64(b.bytes) {
				t.Fatalf("blocks overlap: %d bytes at %d, %d at %d", b.bytes, b.address, other.bytes, other.address)
			}
		}
	}
	free := int64(0)
	for _, r := range a.regions {
		for i, s := range r.free {
			free += s.to - s.from
			if s.from >= s.to || i > 0 && r.free[i-1].to >= s.from {
				t.Fatalf("free spans of a region: %v", r.free)
			}
		}
	}
	if used != a.used || used+free != a.held() {
		t.Fatalf("%d bytes used and %d free of %d; it counts %d", used, free, a.held(), a.used)
	}
}

// TestArenaFits: of the free spans the tightest is taken, so that large ones stay whole.
func TestArenaFits(t *testing.T) {
	a := arena{regionBytes: 10 * alignment, newRegion: func(int64) (uint64, error) { return alignment, nil }, endRegion: func(uint64) error { return nil }}
	blocks := make([]block, 4)
	for i, n := range []int64{4, 1, 2, 3} {
		blocks[i] = must(a.alloc(n * alignment))
	}
	for _, i := range []int{0, 2} {
		if err := a.release(blocks[i]); err != nil {
			t.Fatal(err)
		}
	}
	if b := must(a.alloc(2 * alignment)); b.address != blocks[2].address {
		t.Errorf("at %d, the span of the same size is at %d", b.address, blocks[2].address)
	}
}
