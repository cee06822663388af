// Command gen compiles the kernels of the folder above to PTX, each source once for compute_80 (foo.ptx) and once for compute_75
// (foo.sm75.ptx), with NVRTC 12.0, which needs no GPU. PTX is the same to the byte on every machine.
//
// It is a module of its own, so that go build ./... does not see it. Run it by go generate in the folder above, or
//
//	go run -C _gen . [-check | -report sm_80,sm_90]
//
// -check compares with the files that are there and fails where they differ. -report assembles those files with ptxas and prints what
// each kernel takes of a GPU; it fails where a register was spilled. Both libraries come from wheels: see scripts/cuda/setup.sh.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// architectures are the virtual ones that PTX is made for, by the end of the file's name. Later GPUs take the first.
var architectures = []struct{ suffix, name string }{{".ptx", "compute_80"}, {".sm75.ptx", "compute_75"}}

func main() {
	dir := flag.String("dir", "..", "folder of the kernels")
	check := flag.Bool("check", false, "compare, write nothing")
	archs := flag.String("report", "", "architectures to assemble the PTX for, as sm_80,sm_90")
	flag.Parse()
	err := error(nil)
	if *archs != "" {
		err = report(*dir, strings.Split(*archs, ","))
	} else {
		err = generate(*dir, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate compiles every .cu of a folder; the folder's headers can be included.
func generate(dir string, check bool) error {
	n, err := openNVRTC(filepath.Join(dir, "..", ".."))
	if err != nil {
		return err
	}
	headers, err := read(dir, "*.h")
	if err != nil {
		return err
	}
	sources, err := read(dir, "*.cu")
	if err != nil {
		return err
	}
	var stale []string
	for _, s := range sources {
		for _, a := range architectures {
			ptx, err := n.ptxFor(s, headers, a.name)
			if err != nil {
				return err
			}
			path := filepath.Join(dir, strings.TrimSuffix(s.name, ".cu")+a.suffix)
			if !check {
				if err := os.WriteFile(path, ptx, 0o644); err != nil {
					return err
				}
			} else if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, ptx) {
				stale = append(stale, filepath.Base(path))
			}
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("stale: %s: run go generate in kernels/cuda", strings.Join(stale, ", "))
	}
	return nil
}

// read reads the files of a pattern, by name.
func read(dir, pattern string) ([]source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no %s in %s", pattern, dir)
	}
	var files []source
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		files = append(files, source{filepath.Base(p), string(b)})
	}
	return files, nil
}
