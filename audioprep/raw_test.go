package audioprep

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// tonePCM is a second of a tone as 16-bit PCM.
func tonePCM(rate int) []byte {
	var raw []byte
	for i := range rate {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(int16(8000*math.Sin(2*math.Pi*500*float64(i)/float64(rate)))))
	}
	return raw
}

func TestRawDecoderRates(t *testing.T) {
	for _, rate := range []int{8000, 16000, 24000, 44100, 48000} {
		d, err := NewRawDecoder(RawPCM16, rate)
		if err != nil {
			t.Fatal(err)
		}
		got := d.Flush(d.Write(nil, tonePCM(rate)))
		if len(got) != SampleRate {
			t.Errorf("%d Hz: got %d samples, want a second", rate, len(got))
		}
		for i := 1000; i < 15000; i++ {
			want := 8000. / 32768 * math.Sin(2*math.Pi*500*float64(i)/SampleRate)
			if math.Abs(float64(got[i])-want) > 1e-3 {
				t.Errorf("%d Hz: sample %d is %v, want %v", rate, i, got[i], want)
				break
			}
		}
	}
}

func TestRawDecoderDoesNotDependOnPieces(t *testing.T) {
	for _, codec := range []RawCodec{RawPCM16, RawMuLaw, RawALaw} {
		raw := tonePCM(8000)
		whole, err := NewRawDecoder(codec, 8000)
		if err != nil {
			t.Fatal(err)
		}
		want := whole.Flush(whole.Write(nil, raw))
		pieces, err := NewRawDecoder(codec, 8000)
		if err != nil {
			t.Fatal(err)
		}
		var got []float32
		for part := range slices.Chunk(raw, 7) {
			got = pieces.Write(got, part)
		}
		if got = pieces.Flush(got); !slices.Equal(got, want) {
			t.Errorf("%v: in pieces the samples differ", codec)
		}
		// After Flush it's as new.
		if again := whole.Flush(whole.Write(nil, raw)); !slices.Equal(again, want) {
			t.Errorf("%v: the second run differs", codec)
		}
	}
}

func TestRawDecoderRefuses(t *testing.T) {
	if _, err := NewRawDecoder(RawALaw+1, 8000); err == nil {
		t.Error("an unknown codec was accepted")
	}
	for _, rate := range []int{-1, 0, 3999, 192001} {
		if _, err := NewRawDecoder(RawPCM16, rate); err == nil {
			t.Errorf("%d Hz were accepted", rate)
		}
	}
}

// FuzzRawDecoder holds sound in two pieces to the same sound in one.
func FuzzRawDecoder(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte{1, 2, 3, 4, 5}, 2)
	f.Add(uint8(1), uint8(2), tonePCM(400), 33)
	f.Add(uint8(2), uint8(3), []byte{}, 0)
	f.Fuzz(func(t *testing.T, codec, which uint8, raw []byte, cut int) {
		rates := []int{8000, 16000, 24000, 44100}
		rate := rates[int(which)%len(rates)]
		whole, err := NewRawDecoder(RawCodec(codec), rate)
		if err != nil {
			return
		}
		pieces, err := NewRawDecoder(RawCodec(codec), rate)
		if err != nil {
			t.Fatal(err)
		}
		cut = max(0, min(cut, len(raw)))
		want := whole.Flush(whole.Write(nil, raw))
		got := pieces.Flush(pieces.Write(pieces.Write(nil, raw[:cut]), raw[cut:]))
		if !slices.Equal(got, want) {
			t.Errorf("cut at %d of %d bytes: got %d samples, want %d", cut, len(raw), len(got), len(want))
		}
		if most := len(raw)*SampleRate/rate + 2; len(got) > most {
			t.Errorf("%d bytes became %d samples", len(raw), len(got))
		}
	})
}
