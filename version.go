package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCmd prints what was built from what.
type versionCmd struct{}

func (versionCmd) Run(c *console) error {
	return c.write([]byte(version() + "\n"))
}

// version is the line that both the command and the flag print.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return "hark " + describeBuild(info)
}

// describeBuild is the module's version, the commit it was built from, and the Go version and system it was built for.
func describeBuild(info *debug.BuildInfo) string {
	version, commit := "(devel)", "unknown"
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		modified := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", with changes"
			}
		}
		commit += modified
	}
	return fmt.Sprintf("%s, commit %s, %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
