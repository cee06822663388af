package audioprep

import (
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"
)

// labels says what containers a file may hold by the ending of its name. Endings that mean the
// same share an entry; those that are missing claim nothing.
var labels = []struct {
	endings    string
	types      string // media types, without "audio/" where it is that and without "x-"
	containers []string
}{
	{".wav .wave .bwf", "wav wave vnd.wave pn-wav", []string{"wav"}},
	{".w64", "w64", []string{"w64"}},
	{".mp3 .mp2 .mpga", "mpeg mp3 mpeg3 mpg", []string{"mp3"}},
	{".flac", "flac", []string{"flac"}},
	{".ogg .oga .ogv .ogx .opus .spx", "ogg opus vorbis application/ogg video/ogg", []string{"ogg"}},
	{".webm .mkv .mka", "webm video/webm matroska video/matroska", []string{"webm", "matroska"}},
	{".mp4 .m4a .m4b .m4v .mov .qt .3gp .3gpp .3g2", "mp4 m4a m4b video/mp4 video/m4v video/quicktime 3gpp video/3gpp 3gpp2", []string{"mp4"}},
	{".aac", "", []string{"aac"}},
	{"", "aac aacp", []string{"aac", "mp4"}}, // browsers call both so
	{".aif .aiff .aifc", "aiff aifc", []string{"aiff"}},
	{".au .snd", "basic au", []string{"au"}},
	{".caf", "caf", []string{"caf"}},
	{".amr .awb", "amr amr-wb", []string{"amr"}},
	{".wma .wmv .asf", "ms-wma video/ms-wmv video/ms-asf", []string{"asf"}},
	{".ac3", "ac3", []string{"ac3"}},
	{".wv", "wavpack", []string{"wavpack"}},
	{".ape", "ape", []string{"ape"}},
	{".avi", "video/msvideo video/avi", []string{"avi"}},
	{".dts", "vnd.dts", []string{"dts"}},
	{".tta", "tta", []string{"tta"}},
	{".rm .ra .ram", "pn-realaudio vnd.rn-realaudio", []string{"realmedia"}},
	{".voc", "voc", []string{"voc"}},
	{".sph .nist", "", []string{"nist", "wav"}}, // the name says little
	{".ts .m2ts .mts", "video/mp2t", []string{"mpeg-ts"}},
	{".mpg .mpeg .vob", "video/mpeg", []string{"mpeg-ps", "mpeg-ts", "mp3"}},
	{".flv", "video/flv", []string{"flv"}},
}

// Mislabelled says in words how an upload's name or media type disagrees with its content, or returns "". container is
// what Sniff found, "" for nothing. Names and types that say nothing about sound ("upload.bin",
// application/octet-stream) can't be wrong, and neither can empty ones.
func Mislabelled(name, mediaType, container string) string {
	content := container
	if content == "" {
		content = "of no form that is known"
	}
	ending := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	kind := plainType(mediaType)
	for _, l := range labels {
		if slices.Contains(l.containers, container) {
			continue
		}
		if ending != "" && slices.Contains(strings.Fields(l.endings), ending) {
			return fmt.Sprintf("mislabelled: the name ends in %s, the content is %s", ending, content)
		}
	}
	for _, l := range labels {
		if kind != "" && slices.Contains(strings.Fields(l.types), kind) && !slices.Contains(l.containers, container) {
			return fmt.Sprintf("mislabelled: the media type is %s, the content is %s",
				printableText(mediaType), content)
		}
	}
	return ""
}

// plainType is a media type as labels has it.
func plainType(mediaType string) string {
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return ""
	}
	main, sub, _ := strings.Cut(kind, "/")
	sub = strings.TrimPrefix(sub, "x-")
	if main == "audio" {
		return sub
	}
	return main + "/" + sub
}
