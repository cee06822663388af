package audioprep

import (
	"strconv"
	"strings"
	"time"
)

// selfContained are ffmpeg's demuxers of files that hold their sound themselves, by the names of its
// -formats. Left out are those that read other places on the file's behalf (hls, dash, concat, sdp, rtsp,
// imf, image2, webm_dash_manifest, vobsub, lavfi, avisynth, vapoursynth), those that a program of
// its own plays (libopenmpt, libgme, sbg), devices, pictures and texts.
var selfContained = []string{
	// What Decode takes itself, for codecs and variants that it does not.
	"wav", "w64", "aiff", "au", "caf", "mp3", "aac", "flac", "ogg", "mov", "mp4", "m4a", "3gp", "3g2",
	"mj2", "matroska", "webm",
	// Recorders and telephones.
	"amr", "amrnb", "amrwb", "gsm", "g729", "qcp", "voc", "nistsphere", "sox", "ircam", "avr", "dss", "sln",
	"oma", "ast", "rso", "paf", "pvf", "xwma", "tta", "loas", "act", "iff", "svx",
	// Music and films.
	"asf", "asf_o", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp", "spdif", "wv", "ape", "tak",
	"mpc", "mpc8", "shn", "dsf",
	"avi", "flv", "live_flv", "kux", "mpeg", "mpegts", "mxf", "gxf", "nut", "nuv", "rm", "wtv", "dv", "swf",
	"ea", "bink", "smk", "vqf",
}

// maxAlloc is the largest piece of memory that ffmpeg may ask for at once, in bytes: the index of a long film fits.
const maxAlloc = 256 << 20

// longestExternal is how much audio comes back at most where the caller sets no limit.
const longestExternal = 24 * time.Hour

// decodeArgs is the command line that decodes the input to 32-bit floats with an AU header, which says
// their rate and channels. track counts the audio tracks; -1 leaves the choice to ffmpeg, which
// takes the one marked as default, else the one with the most channels.
func decodeArgs(input string, track int, longest time.Duration) []string {
	args := []string{
		"-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info",
		"-max_alloc", strconv.Itoa(maxAlloc),
		// Of the input.
		"-threads", "1",
		"-protocol_whitelist", "file",
		"-format_whitelist", strings.Join(selfContained, ","),
		"-i", "file:" + input,
		// Of the output.
		"-vn", "-sn", "-dn", "-map_metadata", "-1", "-map_chapters", "-1",
	}
	if track >= 0 {
		args = append(args, "-map", "0:a:"+strconv.Itoa(track))
	}
	return append(args, "-t", strconv.FormatFloat(longest.Seconds(), 'f', 3, 64),
		"-c:a", "pcm_f32be", "-f", "au", "pipe:1")
}
