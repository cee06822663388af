package ps

import (
	"hark/audioprep/internal/bits"
	"hark/audioprep/internal/huffman"
)

const (
	maxEnvelopes  = 5
	maxParameters = 34
)

// row is one parameter in all its bands.
type row = [maxParameters]int

// parameters is what the encoder measured. What has an index for envelopes has that of the
// packet before at 0.
type parameters struct {
	started                     bool
	iidOn, iccOn, extended      bool
	phasesOn                    bool
	iidBands, iccBands, ipdBand int
	fine                        bool // IID in finer steps
	rotate                      bool // mixing by rotation, procedure B
	envelopes                   int
	border                      [maxEnvelopes + 1]int // the last column of each; of the one before at 0
	iid, icc, ipd, opd          [maxEnvelopes + 1]row
}

// bandCounts is how many bands IID and ICC have in each mode, and phaseCounts phases
// (table 8.24).
var (
	bandCounts  = [6]int{10, 20, 34, 10, 20, 34}
	phaseCounts = [6]int{5, 11, 17, 5, 11, 17}
)

// envelopeCounts is by whether borders are written (table 8.29).
var envelopeCounts = [2][4]int{{0, 1, 2, 4}, {1, 2, 3, 4}}

// read reads a payload (table 8.9); false if it cannot be.
func (p *parameters) read(r *bits.Reader) bool {
	header := r.Flag()
	if header && !p.readHeader(r) {
		return false
	}
	p.readBorders(r)
	if !p.readRows(r) {
		return false
	}
	if p.border[p.envelopes] < columns-1 {
		p.prolong()
	}
	for e := 1; e <= p.envelopes; e++ {
		if p.border[e] < p.border[e-1] || p.border[e] >= columns {
			return false
		}
	}
	p.started = p.started || header
	return true
}

// hold keeps the last envelope for the next packet, where it holds on if there is no payload.
func (p *parameters) hold() {
	n := p.envelopes
	for _, rows := range [4]*[maxEnvelopes + 1]row{&p.iid, &p.icc, &p.ipd, &p.opd} {
		rows[0] = rows[n]
	}
	p.envelopes = 0
	p.border[0] = -1
	p.prolong()
}

func (p *parameters) readHeader(r *bits.Reader) bool {
	if p.iidOn = r.Flag(); p.iidOn {
		mode := r.Take(3)
		if mode >= len(bandCounts) {
			return false
		}
		p.iidBands, p.ipdBand, p.fine = bandCounts[mode], phaseCounts[mode], mode > 2
	}
	if p.iccOn = r.Flag(); p.iccOn {
		mode := r.Take(3)
		if mode >= len(bandCounts) {
			return false
		}
		p.iccBands, p.rotate = bandCounts[mode], mode > 2
	}
	p.extended = r.Flag()
	return true
}

func (p *parameters) readBorders(r *bits.Reader) {
	written := r.Take(1)
	p.envelopes = envelopeCounts[written][r.Take(2)]
	p.border[0] = -1
	for e := 1; e <= p.envelopes; e++ {
		if written == 1 {
			p.border[e] = r.Take(5)
		} else {
			p.border[e] = e*columns/p.envelopes - 1
		}
	}
}

// readRows reads all parameters of all envelopes.
func (p *parameters) readRows(r *bits.Reader) bool {
	largest := 7
	if p.fine {
		largest = 15
	}
	clearRows(&p.iid, p.iidOn, p.envelopes)
	clearRows(&p.icc, p.iccOn, p.envelopes)
	for e := 1; p.iidOn && e <= p.envelopes; e++ {
		readRow(r, &p.iid, e, p.iidBands, iidBooks[index(p.fine)], -1)
		for _, v := range p.iid[e] {
			if v < -largest || v > largest {
				return false
			}
		}
	}
	for e := 1; p.iccOn && e <= p.envelopes; e++ {
		readRow(r, &p.icc, e, p.iccBands, iccBooks, -1)
		for _, v := range p.icc[e] {
			if v < 0 || v >= len(coherences) {
				return false
			}
		}
	}
	p.phasesOn = false
	if p.extended {
		p.readExtension(r)
	}
	clearRows(&p.ipd, p.phasesOn, p.envelopes)
	clearRows(&p.opd, p.phasesOn, p.envelopes)
	return !r.Past()
}

func clearRows(rows *[maxEnvelopes + 1]row, used bool, envelopes int) {
	if !used {
		clear(rows[:])
	}
}

// readExtension reads phases, the only extension there is.
func (p *parameters) readExtension(r *bits.Reader) {
	n := r.Take(4)
	if n == 15 {
		n += r.Take(8)
	}
	end := r.At + 8*n
	if n > 0 && r.Take(2) == 0 {
		if p.phasesOn = r.Flag(); p.phasesOn {
			const turn = 7 // phases are in eighths
			for e := 1; e <= p.envelopes; e++ {
				readRow(r, &p.ipd, e, p.ipdBand, ipdBooks, turn)
				readRow(r, &p.opd, e, p.ipdBand, opdBooks, turn)
			}
		}
	}
	r.At = max(r.At, end)
}

// readRow reads a parameter's bands in an envelope, as differences to the envelope before or
// to the band below.
func readRow(r *bits.Reader, rows *[maxEnvelopes + 1]row, e, n int, books [2]*huffman.Table, mask int) {
	along := r.Flag()
	book := books[index(along)]
	rows[e] = row{}
	last := 0
	for b := range n {
		if along {
			last = rows[e-1][b]
		}
		last = (last + int(book.Read(r).Value) - codeOffset) & mask
		rows[e][b] = last
	}
}

// prolong adds an envelope up to the end of the packet that is like the last one.
func (p *parameters) prolong() {
	n := p.envelopes
	for _, rows := range [4]*[maxEnvelopes + 1]row{&p.iid, &p.icc, &p.ipd, &p.opd} {
		rows[n+1] = rows[n]
	}
	p.envelopes++
	p.border[n+1] = columns - 1
}

// codeOffset is what stands for a difference of 0.
const codeOffset = 64

// Codes of the parameters, by differences along time; those of IID by finer steps first.
var (
	iidBooks = [2][2]*huffman.Table{
		{book(iidFreqCoarseLeaves), book(iidTimeCoarseLeaves)}, {book(iidFreqFineLeaves), book(iidTimeFineLeaves)},
	}
	iccBooks = [2]*huffman.Table{book(iccFreqLeaves), book(iccTimeLeaves)}
	ipdBooks = [2]*huffman.Table{book(ipdFreqLeaves), book(ipdTimeLeaves)}
	opdBooks = [2]*huffman.Table{book(opdFreqLeaves), book(opdTimeLeaves)}
)

func book(leaves string) *huffman.Table { return huffman.New(leaves, huffman.Hex) }

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}
