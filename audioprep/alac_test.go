package audioprep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// TestALAC holds the committed samples to the PCM beside them: exactly for one channel;
// mixed to mono, two channels are their mean.
func TestALAC(t *testing.T) {
	pcm, err := decodeBytes(testFile(t, "alac/alac-24.caf"))
	if err != nil {
		t.Fatal(err)
	}
	checkPCM(t, pcm)
	if in := pcm.Info; in.Container != "caf" || in.Codec != "alac" || in.SampleRate != SampleRate || in.Channels != 1 || in.Faults != nil {
		t.Errorf("got %+v", in)
	}
	var want []float32
	for b := testFile(t, "alac/alac-24.s32"); len(b) > 0; b = b[4:] {
		want = append(want, float32(int32(binary.LittleEndian.Uint32(b)))/(1<<31))
	}
	if !equal(pcm.Samples, want) {
		t.Errorf("24 bits: got %d other samples than the %d there were", len(pcm.Samples), len(want))
	}
	if pcm, err = decodeBytes(testFile(t, "alac/alac-16.m4a")); err != nil {
		t.Fatal(err)
	}
	checkPCM(t, pcm)
	if in := pcm.Info; in.Container != "mp4" || in.Codec != "alac" || in.SampleRate != SampleRate || in.Channels != 2 || in.Faults != nil {
		t.Errorf("got %+v", in)
	}
	want = want[:0]
	for b := testFile(t, "alac/alac-16.s16"); len(b) > 0; b = b[4:] {
		left, right := int16(binary.LittleEndian.Uint16(b)), int16(binary.LittleEndian.Uint16(b[2:]))
		want = append(want, (float32(left)+float32(right))/(1<<16))
	}
	if len(pcm.Samples) != len(want) || maxDiff(pcm.Samples, want) > 1e-7 {
		t.Errorf("16 bits: got %d samples, want %d and the same", len(pcm.Samples), len(want))
	}
}

// TestALACDamage: damaged packets are silence, missing ones are missing.
func TestALACDamage(t *testing.T) {
	whole := testFile(t, "alac/alac-24.caf")
	at := bytes.Index(whole, []byte("data")) + 16
	ones := bytes.Clone(whole)
	copy(ones[at:], bytes.Repeat([]byte{0xff}, 100))
	var ce *CorruptError
	if _, err := decodeBytes(ones); !errors.As(err, &ce) || ce.Container != "caf" {
		t.Errorf("the only packet damaged: got %v, want a CorruptError", err)
	}
	if _, err := decodeBytes(bytes.Replace(whole, []byte("kuki"), []byte("kukk"), 1)); !errors.As(err, &ce) {
		t.Errorf("no cookie: got %v, want a CorruptError", err)
	}
	if _, err := decodeBytes(bytes.Replace(whole, []byte("pakt"), []byte("pakk"), 1)); !errors.As(err, &ce) {
		t.Errorf("no packet table: got %v, want a CorruptError", err)
	}
	if _, err := decodeBytes(whole[:len(whole)-2000]); !errors.As(err, &ce) {
		t.Errorf("the only packet cut: got %v, want a CorruptError", err)
	}
}

// TestCAFPackets reads AAC packets, with priming and padding, from a CAF file.
func TestCAFPackets(t *testing.T) {
	all, err := decodeBytes(adtsFile(t, "16000-mono"))
	if err != nil {
		t.Fatal(err)
	}
	packets := adtsPackets(t, "16000-mono")
	var sizes []byte
	for _, p := range packets {
		sizes = append(sizes, byte(len(p)>>7)|0x80, byte(len(p)&0x7f))
	}
	n := int64(len(packets))
	data := bytes.Join(packets, nil)
	file := bytes.Join([][]byte{
		cafDesc("aac ", 0, 0, 1024, 1, 0),
		cafChunk("kuki", int64(len(esds([]byte{0x14, 0x08}))-12), esds([]byte{0x14, 0x08})[12:]),
		cafChunk("data", int64(4+len(data)), u32(0), data),
		cafChunk("pakt", int64(24+len(sizes)), u64(n), u64(3000), u32(1024, 1024*n-4024), sizes),
	}, nil)
	pcm, err := decodeBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if !equal(pcm.Samples, all.Samples[1024:4024]) || pcm.Info.Codec != "aac" || pcm.Info.Faults != nil {
		t.Errorf("got %d samples and %+v, want 3000 and the same", len(pcm.Samples), pcm.Info)
	}
	cut := file[:bytes.Index(file, []byte("pakt"))-100]
	if pcm, err = decodeBytes(cut); err == nil || pcm != nil {
		t.Errorf("cut before the packet table: got %v, want an error", err)
	}
}

// TestALACFFmpeg holds what ffmpeg writes to what ffmpeg decodes, to the last bit.
func TestALACFFmpeg(t *testing.T) {
	for _, c := range [][]string{
		{"x.m4a", "-c:a", "alac"}, {"x.m4a", "-c:a", "alac", "-sample_fmt", "s32p"}, {"x.caf", "-c:a", "alac"}, {"x.mov", "-c:a", "alac"},
		{"x.m4a", "-c:a", "alac", "-compression_level", "0"}, {"x.m4a", "-c:a", "alac", "-min_prediction_order", "30", "-max_prediction_order", "30"},
		{"x.m4a", "-c:a", "alac", "-movflags", "frag_keyframe+empty_moov"},
	} {
		file, want := ffmpegEncode(t, c[0], c[1:]...)
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if !equal(pcm.Samples, want) || pcm.Info.Faults != nil || pcm.Info.Codec != "alac" {
			t.Errorf("%v: got %d samples, %+v, want the %d of ffmpeg", c, len(pcm.Samples), pcm.Info, len(want))
		}
	}
	for _, name := range []string{"formats/m4a-alac.m4a", "formats/caf-alac.caf"} {
		path := sharedPath(t, "audio", name)
		want := ffmpegDecode(t, path)
		pcm, err := decodeFile(t, path, Options{})
		if err != nil || !equal(pcm.Samples, want) {
			t.Errorf("%s: got other samples than ffmpeg (%v)", name, err)
		}
	}
}

func FuzzCAF(f *testing.F) {
	f.Add(testFile(f, "alac/alac-24.caf")[8:])
	f.Add(append(cafDesc("lpcm", 2, 2, 1, 1, 16), cafChunk("data", -1, u32(0), make([]byte, 100))...)[8:])
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecode(t, append([]byte("caff\x00\x01\x00\x00"), b...), 0)
	})
}
