package audioprep

// Behind damage, EBML gives nothing to hold on to but what an element's ID and
// size look like.

// plausible reports whether an element of an unknown name may be one: what
// follows it is known.
func (m *matroska) plausible(n int, size int64) bool {
	const far = 1 << 20
	if size > far {
		return false
	}
	b := m.w.fill(n + int(size) + maxEBMLHeader)
	if len(b) == n+int(size) {
		return true
	}
	id, _, k := ebmlHeader(b[n+int(size):])
	return k > 0 && knownMatroska(id)
}

func knownMatroska(id uint32) bool {
	switch id {
	case idEBML, idSegment, idInfo, idTracks, idCluster, idTimestamp, idSimpleBlock, idBlockGroup:
		return true
	}
	return matroskaOther[id]
}

// resync moves to what looks like a cluster or a row of blocks. cut says that
// the element at the cursor claims more than there is, which is no damage if
// nothing follows.
func (m *matroska) resync(cut bool) {
	start := m.passed
	m.lost = true
	for {
		const window = 64 << 10
		b := m.w.fill(window)
		end := len(b) - maxEBMLHeader
		if m.w.done && len(b) < window {
			end = len(b)
		}
		for i := 1; i < end; i++ {
			if (b[i] == idCluster>>24 || b[i] == idSimpleBlock || b[i] == idBlockGroup) && startsMatroska(b[i:]) {
				m.passed += int64(i)
				m.damaged++
				m.w.skip(i)
				return
			}
		}
		if len(b) < window {
			m.passed += int64(len(b))
			m.w.skip(len(b))
			if m.cut = cut; cut {
				m.passed = start
			} else {
				m.damaged++
			}
			return
		}
		m.passed += int64(end - 1)
		m.w.skip(end - 1)
		if m.w.in.ctx.Err() != nil {
			return
		}
	}
}

// startsMatroska reports whether b starts with a cluster, or with blocks of which
// three follow each other as far as b reaches.
func startsMatroska(b []byte) bool {
	for range 3 {
		id, size, n := ebmlHeader(b)
		if n == 0 {
			return false
		}
		switch id {
		case idCluster:
			return true
		case idSimpleBlock, idBlockGroup:
			if size < 4 || size > maxBlockBytes {
				return false
			}
		default:
			return false
		}
		if size > int64(len(b)-n) {
			return false
		}
		if b = b[n+int(size):]; len(b) < maxEBMLHeader {
			return true
		}
	}
	return true
}
