package audioprep

import (
	"bytes"
	"unicode/utf8"
)

// magic is a fixed byte string that gives a container away.
type magic struct {
	at   int
	text string
	name string
}

// magics is in order of trust: longer and rarer first. The signatures are from
// each format's specification; for many of them see the table of the IANA media
// types and "file" (magic(5)).
var magics = []magic{
	{0, "\x1a\x45\xdf\xa3", "webm"}, // EBML; told from matroska below
	{0, "\x1f\x43\xb6\x75", "webm"}, // a cluster: a later piece of what a browser recorded
	{0, "fLaC", "flac"},
	{0, "OggS", "ogg"},
	{4, "ftyp", "mp4"},
	{4, "moov", "mp4"},
	{4, "mdat", "mp4"},
	{0, "riff\x2e\x91\xcf\x11", "w64"},
	{0, "caff", "caf"},
	{0, ".snd", "au"},
	{0, "#!AMR", "amr"},
	{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "asf"},
	{0, "wvpk", "wavpack"},
	{0, "MAC ", "ape"},
	{0, "MPCK", "musepack"},
	{0, "ADIF", "aac"},
	{0, "\x0b\x77", "ac3"},
	{0, "\x7f\xfe\x80\x01", "dts"}, // of 16 bits, in either order of bytes, then of 14
	{0, "\xfe\x7f\x01\x80", "dts"},
	{0, "\x1f\xff\xe8\x00", "dts"},
	{0, "\xff\x1f\x00\xe8", "dts"},
	{0, "TTA1", "tta"},
	{0, ".RMF", "realmedia"},
	{0, "Creative Voice File\x1a", "voc"},
	{0, "NIST_1A\n", "nist"}, // Sphere, in which speech corpora come
	{0, "MThd", "midi"},
	{0, "FLV\x01", "flv"},
	{0, "\x00\x00\x01\xba", "mpeg-ps"},
	{0, "\x89PNG\r\n\x1a\n", "png"},
	{0, "\xff\xd8\xff", "jpeg"},
	{0, "GIF8", "gif"},
	{0, "%PDF-", "pdf"},
	{0, "PK\x03\x04", "zip"},
	{0, "\x1f\x8b", "gzip"},
	{0, "7z\xbc\xaf\x27\x1c", "7z"},
	{0, "\x28\xb5\x2f\xfd", "zstd"},
	{0, "BZh", "bzip2"},
}

// Sniff names the container that an upload starts with: "wav", "mp3", "flac",
// "ogg", "webm", "matroska", "mp4", "aiff", "text", "html", "png"… or "" when
// nothing is recognised. head is the upload's beginning; 64 KiB is enough for
// all that Sniff can find, and less finds less. An ID3v2 tag is taken for MP3
// unless what follows it within head is something else.
func Sniff(head []byte) string {
	for size := id3v2Size(head); size != 0; size = id3v2Size(head) {
		if size >= int64(len(head)) {
			return "mp3"
		}
		head = head[size:]
	}
	if name := sniffIFF(head); name != "" {
		return name
	}
	for _, m := range magics {
		if len(head) >= m.at+len(m.text) && string(head[m.at:m.at+len(m.text)]) == m.text {
			if m.name == "webm" && bytes.Contains(head[:min(len(head), 64)], []byte("matroska")) {
				return "matroska"
			}
			return m.name
		}
	}
	if isMP4(head) {
		return "mp4"
	}
	if isMPEGTS(head) {
		return "mpeg-ts"
	}
	if isZlib(head) {
		return "zlib"
	}
	if name := sniffMPEG(head); name != "" {
		return name
	}
	return sniffText(head)
}

// sniffIFF tells apart the formats made of IFF chunks: the form's type stands
// behind its size.
func sniffIFF(head []byte) string {
	if len(head) < 12 {
		if len(head) >= 4 {
			switch string(head[:4]) {
			case "RIFF", "RIFX", "RF64", "BW64":
				return "wav" // cut short: the decoder says so
			}
		}
		return ""
	}
	kind := string(head[8:12])
	switch string(head[:4]) {
	case "RIFF", "RIFX", "RF64", "BW64":
		switch kind {
		case "WAVE":
			return "wav"
		case "AVI ":
			return "avi"
		case "WEBP":
			return "webp"
		}
		return "riff"
	case "FORM":
		switch kind {
		case "AIFF", "AIFC":
			return "aiff"
		}
		return "iff"
	}
	return ""
}

// isMP4 recognises MP4 files that begin with another box than usual: room left free, or a
// segment of a stream. Words of text may look the same, but not with a size before them.
func isMP4(b []byte) bool {
	if len(b) < 8 || b[0] != 0 {
		return false
	}
	switch string(b[4:8]) {
	case "free", "skip", "wide", "pnot", "styp", "moof", "sidx":
		return true
	}
	return false
}

// sniffText recognises what a broken client sends instead of audio: a page, an
// error message, a path.
func sniffText(head []byte) string {
	head = head[:min(len(head), 1024)]
	if len(head) == 0 || bytes.IndexByte(head, 0) >= 0 {
		return ""
	}
	control := 0
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' {
			control++
		}
	}
	// The last character may be cut in two.
	text := head
	for i := 0; i < utf8.UTFMax && !utf8.Valid(text); i++ {
		text = text[:len(text)-1]
	}
	if control > len(head)/50 || !utf8.Valid(text) {
		return ""
	}
	lower := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	for _, p := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(lower, []byte(p)) {
			return "html"
		}
	}
	switch {
	case bytes.HasPrefix(lower, []byte("<?xml")):
		return "xml"
	case bytes.HasPrefix(lower, []byte("{")) || bytes.HasPrefix(lower, []byte("[")):
		return "json"
	}
	return "text"
}

// isMPEGTS recognises packets of 188 bytes that begin with 0x47 (ISO/IEC 13818-1, section 2.4.3), with or without the
// four bytes of time that Blu-ray and cameras put before each.
func isMPEGTS(b []byte) bool {
	const packet, packets, sync = 188, 4, 0x47
	for _, before := range []int{0, 4} {
		found := 0
		for at := before; at < len(b) && b[at] == sync && found < packets; at += before + packet {
			found++
		}
		if found == packets {
			return true
		}
	}
	return false
}

// isZlib recognises a zlib header: deflate with a 32 KiB window, and a checksum
// (RFC 1950, section 2.2).
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0] == 0x78 && (int(b[0])<<8|int(b[1]))%31 == 0 && b[1]&0x20 == 0
}

// id3v2Size returns the whole length of the ID3v2 tag that b starts with,
// header and footer included, or 0 if there is none. The size is four bytes of
// seven bits (id3.org, ID3v2.4 structure, section 3.1).
func id3v2Size(b []byte) int64 {
	if len(b) < 10 || string(b[:3]) != "ID3" || b[3] == 0xff || b[4] == 0xff {
		return 0
	}
	if (b[6]|b[7]|b[8]|b[9])&0x80 != 0 {
		return 0
	}
	size := int64(b[6])<<21 | int64(b[7])<<14 | int64(b[8])<<7 | int64(b[9])
	size += 10
	if b[5]&0x10 != 0 {
		size += 10
	}
	return size
}
