package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{info, "v1.2.3, commit 0123456789ab, with changes, go"},
		{&debug.BuildInfo{}, "(devel), commit unknown, go"},
		{nil, "(devel), commit unknown, go"},
	} {
		if got := describeBuild(c.info); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q…", got, c.want)
		}
	}
}
