// Command gen compiles the kernels of the folder above to PTX, each source once for compute_80 (foo.ptx) and once for compute_75
// (foo.sm75.ptx), with NVRTC 12.0, which needs no GPU. PTX is the same to the byte on every machine.
//
// It is a module of its own, so that go build ./... does not see it. Run it by go generate in the folder above, or
//
//	go run -C _gen . [-check | -report all | -report sm_80,sm_90]
//
// -check compares with the files that are there and fails where they differ. -report assembles those files with ptxas and prints what
// each kernel takes of a GPU; it fails where a register was spilled. Both libraries come from wheels: see scripts/cuda/setup.sh.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// architectures are the virtual ones that PTX is made for, by the end of the file's name. Later GPUs take the first.
var architectures = []struct{ suffix, name string }{{".ptx", "compute_80"}, {".sm75.ptx", "compute_75"}}

func main() {
	dir := flag.String("dir", "..", "folder of the kernels")
	check := flag.Bool("check", false, "compare, write nothing")
	archs := flag.String("report", "", "architectures to assemble the PTX for, as sm_80,sm_90, or all")
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
	var all []output
	for _, s := range sources {
		for _, a := range architectures {
			all = append(all, output{s, a.name, filepath.Join(dir, strings.TrimSuffix(s.name, ".cu")+a.suffix), nil})
		}
	}
	err = each(all, func(o *output) (err error) {
		o.ptx, err = n.ptxFor(o.source, headers, o.arch)
		return err
	})
	if err != nil {
		return err
	}
	if check {
		return compare(all)
	}
	return each(all, func(o *output) error { return os.WriteFile(o.path, o.ptx, 0o644) })
}

// output is a file to be made of a source.
type output struct {
	source     source
	arch, path string
	ptx        []byte
}

// compare fails where files are not what was made now.
func compare(all []output) error {
	var stale []string
	for _, o := range all {
		if old, err := os.ReadFile(o.path); err != nil || !bytes.Equal(old, o.ptx) {
			stale = append(stale, filepath.Base(o.path))
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("stale: %s: run go generate in kernels/cuda", strings.Join(stale, ", "))
	}
	return nil
}

// each does something with all items, as many at once as there are processors, and returns what failed.
func each[T any](items []T, do func(item *T) error) error {
	failed := make([]error, len(items))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(items); i = next.Add(1) - 1 {
				failed[i] = do(&items[i])
			}
		})
	}
	workers.Wait()
	return errors.Join(failed...)
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
