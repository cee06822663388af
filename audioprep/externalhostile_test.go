//go:build unix

package audioprep

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostile are files that are lists of other places to read from; FILE is a path, HOST an address.
var hostile = map[string]string{
	"hls file":         "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nFILE\n#EXT-X-ENDLIST\n",
	"hls http":         "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://HOST/a.wav\n#EXT-X-ENDLIST\n",
	"hls map":          "#EXTM3U\n#EXT-X-MAP:URI=\"FILE\"\n#EXTINF:9,\nFILE\n#EXT-X-ENDLIST\n",
	"hls key":          "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"http://HOST/key\"\n#EXTINF:9,\nFILE\n#EXT-X-ENDLIST\n",
	"hls concat":       "#EXTM3U\n#EXTINF:9,\nconcat:FILE|http://HOST/\n#EXT-X-ENDLIST\n",
	"hls behind zeros": strings.Repeat("\n", 100) + "#EXTM3U\n#EXTINF:9,\nFILE\n",
	"concat":           "ffconcat version 1.0\nfile FILE\n",
	"concat of itself": "ffconcat version 1.0\nfile 3\n",
	"concat protocol":  "ffconcat version 1.0\nfile 'http://HOST/a.wav'\n",
	"concat options":   "ffconcat version 1.0\nfile FILE\noption safe 0\n",
	"dash": `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT9S"><Period><AdaptationSet mimeType="audio/mp4">` +
		`<Representation id="a" bandwidth="1"><BaseURL>http://HOST/a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`,
	"sdp":        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 45454 RTP/AVP 0\n",
	"rtsp redir": "[redir]\nrtsp://HOST/\n",
	"vobsub":     "# VobSub index file, v7 (do not modify this line!)\nid: en, index: 0\ntimestamp: 00:00:01:000, filepos: 000000000\n",
	"asx":        "<ASX version=\"3.0\"><ENTRY><REF HREF=\"http://HOST/a.wma\"/></ENTRY></ASX>",
	"reference":  "[Reference]\nRef1=http://HOST/a.asf\n",
	"imf":        `<?xml version="1.0"?><CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"><Id>urn:uuid:1</Id></CompositionPlaylist>`,
	"ffmetadata": ";FFMETADATA1\ntitle=x\n",
	"mod music":  "Extended Module: x                   \x1aFastTracker v2.00   ",
}

// TestFFmpegHostile: no upload makes ffmpeg open another file or talk to anybody. (Sniff already keeps nearly all of
// these from it; here they are put before it all the same.)
func TestFFmpegHostile(t *testing.T) {
	f := realFFmpeg(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	called := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
			called <- struct{}{}
		}
	}()
	canary := filepath.Join(t.TempDir(), "canary.wav")
	if err := os.WriteFile(canary, riff(fmtChunk(tagPCM, 1, 8000, 16), chunk("data", make([]byte, 16000))), 0o600); err != nil {
		t.Fatal(err)
	}
	places := strings.NewReplacer("FILE", canary, "HOST", listener.Addr().String())

	// That the canary sings where containers are not bounded shows that it is there to be caught.
	list := filepath.Join(filepath.Dir(canary), "list")
	if err := os.WriteFile(list, []byte("ffconcat version 1.0\nfile canary.wav\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := decodeArgs(list, -1, time.Minute)
	if b, err := exec.Command(f.path, args...).Output(); err == nil || len(b) > 0 {
		t.Errorf("a list of files was read: %v, %d bytes", err, len(b))
	}
	at := slices.Index(args, "-format_whitelist")
	if b, err := exec.Command(f.path, slices.Delete(args, at, at+2)...).Output(); err != nil || len(b) < 32000 {
		t.Errorf("the list can't be read even without bounds: %v, %d bytes", err, len(b))
	}

	for name, text := range hostile {
		in, err := newInput(context.Background(), bytes.NewReader([]byte(places.Replace(text))))
		if err != nil {
			t.Fatal(err)
		}
		s := &sink{ctx: context.Background()}
		err = f.decode(in, s, &FormatError{Found: "list"})
		var format *FormatError
		if !errors.As(err, &format) || s.opened() {
			t.Errorf("%s: got %v, want a FormatError", name, err)
		}
	}
	select {
	case <-called:
		t.Error("ffmpeg called out")
	default:
	}
}

// TestFFmpegArgs: what keeps ffmpeg from other files and the network stands before the input that it is for.
func TestFFmpegArgs(t *testing.T) {
	args := decodeArgs("x", 1, time.Second)
	input := slices.Index(args, "-i")
	for _, want := range []string{"-nostdin", "-max_alloc", "-protocol_whitelist", "-format_whitelist"} {
		if at := slices.Index(args, want); at < 0 || at > input {
			t.Errorf("%s stands at %d, the input at %d", want, at, input)
		}
	}
	if got := args[slices.Index(args, "-protocol_whitelist")+1]; got != "file" {
		t.Errorf("protocols: got %s", got)
	}
	if got := args[input+1]; got != "file:x" {
		t.Errorf("input: got %s", got)
	}
	for _, bad := range []string{"hls", "concat", "dash", "sdp", "rtsp", "image2", "imf", "lavfi", "vobsub", "avisynth", "vapoursynth", "webm_dash_manifest", "libopenmpt"} {
		if slices.Contains(selfContained, bad) {
			t.Errorf("%s reads from other places", bad)
		}
	}
	if !slices.Contains(args, "0:a:1") {
		t.Errorf("track 1 is not asked for: %q", args)
	}
}
