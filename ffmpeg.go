package main

import (
	"context"
	"errors"
	"fmt"

	"hark/audioprep"
)

// ffmpegFlags say whether ffmpeg decodes what hark does not.
type ffmpegFlags struct {
	FFmpeg string `name:"ffmpeg" default:"auto" placeholder:"PATH" help:"Program that decodes the files that hark does not (WMA, AMR, AC-3, old films): auto takes the ffmpeg on PATH if there is one, off takes none (default: ${default})."`
}

// find returns the program, nil where there is none to be used, and the error for one that can't be. Where none was
// asked for, that is for the doctor to tell.
func (f ffmpegFlags) find(ctx context.Context) (*audioprep.FFmpeg, error) {
	switch f.FFmpeg {
	case "off":
		return nil, nil
	case "auto", "":
		program, err := audioprep.FindFFmpeg(ctx, "")
		if err != nil {
			return nil, ctx.Err()
		}
		return program, nil
	}
	program, err := audioprep.FindFFmpeg(ctx, f.FFmpeg)
	if err != nil {
		return nil, withHint(&usage{fmt.Errorf("--ffmpeg: %w", err)},
			"give the path of an ffmpeg program, or auto for the one on PATH, or off")
	}
	return program, nil
}

// findLater is find, but looks for the program on PATH only when a file needs it: for commands that end soon.
func (f ffmpegFlags) findLater(ctx context.Context) (*audioprep.FFmpeg, error) {
	if f.FFmpeg == "auto" || f.FFmpeg == "" {
		return audioprep.FFmpegOnDemand(), nil
	}
	return f.find(ctx)
}

// examine says for the doctor what will be used and what it adds.
func (f ffmpegFlags) examine(ctx context.Context) (line string, findings []finding) {
	const adds = "WMA, AMR, AC-3, WavPack and the sound of old films"
	path := f.FFmpeg
	switch path {
	case "off":
		return "not used, by --ffmpeg off", nil
	case "auto", "":
		path = ""
	}
	program, err := audioprep.FindFFmpeg(ctx, path)
	switch {
	case errors.Is(err, audioprep.ErrNoFFmpeg):
		return "", []finding{{text: "ffmpeg: without it " + adds + " are refused; all else is decoded without"}}
	case err != nil:
		return "", []finding{{broken: path != "",
			text: fmt.Sprintf("ffmpeg: %v; without it %s are refused", err, adds)}}
	}
	return fmt.Sprintf("%s, version %s: decodes %s, which hark does not", program.Path(), program.Version(), adds), nil
}
