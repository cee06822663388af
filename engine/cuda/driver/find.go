package driver

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// driverFolders are where a driver may lie without the loader knowing: Debian, Red Hat, WSL, NixOS, and containers of
// Google's.
var driverFolders = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
	"/run/opengl-driver/lib",
	"/usr/local/nvidia/lib64",
}

// toolkitFolders are where CUDA's toolkit puts its libraries, as patterns.
var toolkitFolders = []string{
	"/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/cuda/targets/*/lib", "/opt/cuda/lib64",
	"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib",
}

// pythonFolders are where pip puts NVIDIA's libraries, as patterns: in an environment that is
// active, the user's own folder, the system's.
func pythonFolders() []string {
	var folders []string
	for _, root := range []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")} {
		if root != "" {
			folders = append(folders, root+"/lib/python3*/site-packages")
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, home+"/.local/lib/python3*/site-packages")
	}
	folders = append(folders, "/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages",
		"/usr/lib/python3*/site-packages")
	var libraries []string
	for _, f := range folders {
		libraries = append(libraries, f+"/nvidia/cublas/lib", f+"/nvidia/cu1[0-9]/lib")
	}
	return libraries
}

// library is an opened library.
type library struct {
	handle uintptr
	path   string // of its file, where that can be told, else the name it was opened by
}

// open opens the library that was named, or else the first of sonames that the loader finds, or that lies in one of the
// folders. The error of a library that is there but can't be opened is preferred to that of one that is not.
func open(named string, sonames, folders []string) (*library, error) {
	if named != "" {
		return openAs(named)
	}
	var failure error
	for _, name := range sonames {
		l, err := openAs(name)
		if err == nil {
			return l, nil
		}
		failure = errors.Join(failure, err)
	}
	for _, folder := range folders {
		for _, name := range sonames {
			paths, _ := filepath.Glob(filepath.Join(folder, name)) // the patterns are ours
			slices.Sort(paths)
			slices.Reverse(paths) // newest first
			for _, path := range paths {
				l, err := openAs(path)
				if err == nil {
					return l, nil
				}
				failure = err
			}
		}
	}
	return nil, failure
}

func openAs(name string) (*library, error) {
	handle, err := openLibrary(name)
	if err != nil {
		return nil, err
	}
	return &library{handle: handle, path: mappedPath(name)}, nil
}

// mappedPath is the file that a library was loaded from, as the kernel lists it.
func mappedPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return name
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		// address perms offset dev inode path
		_, path, ok := strings.Cut(s.Text(), "/")
		if ok && strings.HasPrefix(filepath.Base(path), name) {
			return "/" + path
		}
	}
	return name
}

// resolve fills in the functions of a table, by the names they have in C.
func (l *library) resolve(table []symbol) error {
	for _, s := range table {
		fn, err := lookUp(l.handle, s.name)
		if err != nil {
			return err
		}
		*s.fn = fn
	}
	return nil
}

// symbol is a function to be found: its name in C, and where its address is kept.
type symbol struct {
	name string
	fn   *uintptr
}
