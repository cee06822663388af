//go:build linux && amd64 && !nocuda

package emu

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	kernels "hark/kernels/cuda"
)

const (
	cudaName = "libcuda.so.1"
	blasName = "libcublasLt.so.12"
)

// flags are the compiler's. -fno-gnu-unique: else all copies of the library would share the kernels' shared memory.
var flags = []string{
	"-std=c++17", "-O2", "-g1", "-march=x86-64-v3", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique",
	"-Wall", "-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-function", "-Wno-unused-but-set-variable",
}

// kernelFlags are those for kernels: a misaligned access is made an illegal instruction, which the emulator reports.
var kernelFlags = []string{"-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"}

// sanitizerFlags are those of HARK_EMU=asan.
var sanitizerFlags = []string{"-O1", "-fsanitize=address", "-fno-omit-frame-pointer"}

// turingFlags are those of HARK_EMU=turing.
var turingFlags = []string{"-DEMU_TURING=1"}

// variant is which emulated GPU is built, HARK_EMU: "" is the usual one.
func variant() string { return os.Getenv("HARK_EMU") }

// compiler is CXX, or g++.
func compiler() string {
	if cxx := os.Getenv("CXX"); cxx != "" {
		return cxx
	}
	return "g++"
}

// unit is something to be compiled.
type unit struct {
	name, text string
	flags      []string
	object     string // the file that it becomes, named by all that it is made from
}

// build makes the library, unless the cache has it, and returns its path.
var build = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	sources := []string{filepath.Join(root, "engine", "cuda", "emu", "src"), filepath.Join(root, "kernels", "cuda")}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	common := append([]string(nil), flags...)
	switch variant() {
	case "asan":
		common = append(common, sanitizerFlags...)
	case "turing":
		common = append(common, turingFlags...)
	}
	for _, s := range sources {
		common = append(common, "-I", s)
	}
	headers, err := readAll(sources, "*.h")
	if err != nil {
		return "", err
	}
	units, err := unitsOf(sources)
	if err != nil {
		return "", err
	}
	version, err := exec.Command(compiler(), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("emu: %s: %w", compiler(), err)
	}
	for i, u := range units {
		units[i].flags = append(append([]string(nil), common...), u.flags...)
		units[i].object = filepath.Join(cache, u.name+"-"+sum(string(version)+headers, u.text, units[i].flags...)+".o")
	}
	return library(cache, units, common)
})

// library makes the library of units, in a folder of its own, unless it's there.
// Others who want the same one wait for it.
func library(cache string, units []unit, common []string) (string, error) {
	names := append([]string(nil), common...)
	for _, u := range units {
		names = append(names, u.object)
	}
	dir := filepath.Join(cache, sum("library", "", names...))
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, cudaName)
	if touch(dir) && touch(path) {
		return path, nil
	}
	prune(cache)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := compileAll(units); err != nil {
		return "", err
	}
	return path, link(path, units, common)
}

// unitsOf lists the emulator's own sources and, each with the lines that enter its kernels, the .cu files.
func unitsOf(sources []string) ([]unit, error) {
	var units []unit
	own, err := filepath.Glob(filepath.Join(sources[0], "*.cc"))
	if err != nil {
		return nil, err
	}
	for _, path := range own {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		units = append(units, unit{name: filepath.Base(path), text: string(text)})
	}
	faults, err := Faults()
	if err != nil {
		return nil, err
	}
	modules := append(kernels.Modules(), kernels.Module{Name: "faults", SM80: faults, SM75: faults})
	for i, m := range modules {
		dir := sources[1]
		if i == len(modules)-1 {
			dir = sources[0]
		}
		text, err := os.ReadFile(filepath.Join(dir, m.Name+".cu"))
		if err != nil {
			return nil, err
		}
		// The source is in the text for its hash's sake; the compiler reads the file, and so knows its lines.
		units = append(units, unit{name: m.Name + ".cu",
			text: entering(m) + "/*\n" + strings.ReplaceAll(string(text), "*/", "* /") + "*/\n", flags: kernelFlags})
	}
	return units, nil
}

// entering is a source that includes a module's and enters its kernels, those that its PTX has.
func entering(m kernels.Module) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include \"dev.h\"\n#include %q\n", m.Name+".cu")
	ptx := m.SM80
	if variant() == "turing" {
		ptx = m.SM75
	}
	for _, entry := range bytes.Split(ptx, []byte(".entry "))[1:] {
		name, _, _ := bytes.Cut(entry, []byte("("))
		fmt.Fprintf(&b, "static int enter_%s = emu::add(%q, %s);\n", name, name, name)
	}
	return b.String()
}

// Faults is the PTX of the kernels with faults.
func Faults() ([]byte, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(root, "engine", "cuda", "emu", "src", "faults.ptx"))
}

// compileAll compiles what the cache lacks, on all cores.
func compileAll(units []unit) error {
	failures := make([]error, len(units))
	free := make(chan bool, runtime.GOMAXPROCS(0))
	var work sync.WaitGroup
	for i, u := range units {
		if touch(u.object) {
			continue
		}
		work.Go(func() {
			free <- true
			defer func() { <-free }()
			failures[i] = compile(u)
		})
	}
	work.Wait()
	return errors.Join(failures...)
}

func compile(u unit) error {
	part := fmt.Sprintf("%s.%d", u.object, os.Getpid()) // two libraries may share the unit
	cmd := exec.Command(compiler(), append(append([]string(nil), u.flags...), "-c", "-x", "c++", "-o", part, "-")...)
	cmd.Stdin = strings.NewReader(u.text)
	cmd.Env = append(os.Environ(), "LD_PRELOAD=") // a sanitizer's library is not for the compiler
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("emu: compiling %s: %w\n%s", u.name, err, out)
	}
	return os.Rename(part, u.object)
}

// link makes the library at path.
func link(path string, units []unit, common []string) error {
	args := append(append([]string(nil), common...), "-shared", "-Wl,-soname,"+cudaName, "-o", path+".part")
	for _, u := range units {
		args = append(args, u.object)
	}
	if out, err := exec.Command(compiler(), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("emu: linking: %w\n%s", err, out)
	}
	if err := os.Symlink(cudaName, filepath.Join(filepath.Dir(path), blasName)); err != nil &&
		!errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Rename(path+".part", path)
}

// keepFor is how long what nobody uses stays in the cache.
const keepFor = 7 * 24 * time.Hour

// prune removes what has long not been used. What can't be removed stays.
func prune(cache string) {
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}

// touch reports whether a file is there, and notes its use.
func touch(path string) bool {
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

// sum is a short hash of texts.
func sum(seed, text string, more ...string) string {
	h := sha256.New()
	add(h, seed)
	add(h, text)
	for _, m := range more {
		add(h, m)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// add hashes a text with its length, so that no two lists of texts look alike.
func add(h hash.Hash, text string) {
	fmt.Fprintf(h, "%d:", len(text))
	_, _ = io.WriteString(h, text) // a hash takes everything
}

// readAll is the text of all files of a pattern in some folders.
func readAll(folders []string, pattern string) (string, error) {
	var all strings.Builder
	for _, f := range folders {
		paths, err := filepath.Glob(filepath.Join(f, pattern))
		if err != nil {
			return "", err
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				return "", err
			}
			all.Write(text)
		}
	}
	return all.String(), nil
}

// moduleRoot is the folder with go.mod: tests run in their package's.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("emu: not in the repository: its sources are needed")
		}
		dir = parent
	}
}

func cacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "hark", "emu")
	return dir, os.MkdirAll(dir, 0o755)
}

// lock keeps others out until unlock.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
