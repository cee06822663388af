package audioprep

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	mp3, err := os.ReadFile("internal/mpeg/testdata/44100-joint.mp3")
	if err != nil {
		t.Fatal(err)
	}
	id3 := []byte("ID3\x04\x00\x00\x00\x00\x01\x00" + string(make([]byte, 128)))
	for _, c := range []struct{ want, head string }{
		{"wav", "RIFF\x24\x00\x00\x00WAVEfmt "}, {"wav", "RIFX\x00\x00\x00\x24WAVEfmt "}, {"wav", "RF64\xff\xff\xff\xffWAVEds64"},
		{"avi", "RIFF\x24\x00\x00\x00AVI LIST"}, {"flac", "fLaC\x00\x00\x00\x22"}, {"ogg", "OggS\x00\x02"},
		{"webm", "\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm"}, {"webm", "\x1f\x43\xb6\x75\x01\xff\xff\xff"}, {"matroska", "\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska"},
		{"mp4", "\x00\x00\x00\x20ftypM4A "}, {"aiff", "FORM\x00\x00\x00\x00AIFFCOMM"}, {"aiff", "FORM\x00\x00\x00\x00AIFCFVER"},
		{"au", ".snd\x00\x00\x00\x18"}, {"caf", "caff\x00\x01\x00\x00desc"}, {"amr", "#!AMR\n<"},
		{"asf", "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9"}, {"aac", "\xff\xf1\x50\x80\x02\x1f\xfc" + string(make([]byte, 9)) + "\xff\xf1\x50\x80\x02\x1f\xfc"},
		{"dts", "\x7f\xfe\x80\x01\xfc"}, {"dts", "\xfe\x7f\x01\x80"}, {"tta", "TTA1\x01\x00"}, {"realmedia", ".RMF\x00\x00"},
		{"voc", "Creative Voice File\x1a\x1a\x00"}, {"nist", "NIST_1A\n   1024\nsample_rate -i 16000\n"},
		{"mpeg-ts", strings.Repeat("G"+string(make([]byte, 187)), 4)}, {"mpeg-ts", strings.Repeat("\x01\x02\x03\x04G"+string(make([]byte, 187)), 4)},
		{"text", strings.Repeat("G"+strings.Repeat("g", 200), 4)}, {"png", "\x89PNG\r\n\x1a\n\x00\x00"}, {"jpeg", "\xff\xd8\xff\xe0\x00\x10JFIF"}, {"pdf", "%PDF-1.7"}, {"zip", "PK\x03\x04\x14\x00"},
		{"gzip", "\x1f\x8b\x08\x00"}, {"zlib", "\x78\x9c\xcb\x48"}, {"html", " <!DOCTYPE html><p>502"}, {"html", "\ufeff<html>"},
		{"json", `{"error": "no file"}`}, {"xml", "<?xml version='1.0'?>"}, {"text", "hello, world\n"}, {"text", "grüße aus köl\xc3"},
		{"", ""}, {"", "\x00\x00\x00\x00\x00\x00\x00\x00"}, {"", "\x80\x81\x82\x83\x84\x85\x86\x87"},
		{"mp3", string(mp3)}, {"mp3", string(id3) + string(mp3)}, {"flac", string(id3) + "fLaC\x00\x00\x00\x22"},
		{"mp3", string(make([]byte, 4096)) + string(mp3)}, {"mp3", string(id3[:20])},
	} {
		if got := Sniff([]byte(c.head)); got != c.want {
			t.Errorf("%.20q: got %q, want %q", c.head, got, c.want)
		}
	}
	if got := Sniff(bytes.Repeat([]byte{0xff}, 1000)); got != "" {
		t.Errorf("0xff repeated: got %q", got)
	}
}
