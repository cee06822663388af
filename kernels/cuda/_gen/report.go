package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ptxasWheel holds the assembler, the program that a driver has built in. A later release than NVRTC's knows later architectures.
const ptxasWheel = "nvidia-cuda-nvcc-cu12==12.9.86"

// usage is what a kernel takes of a GPU.
type usage struct {
	threads, registers, spilled int // most threads of a block; a thread's registers, and bytes of them spilled
	shared                      int // bytes of a block
}

// limits are a multiprocessor's threads, blocks, shared memory and what each block takes of that for itself. Registers are 65,536 in all,
// in units of 256 a warp. (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".)
type limits struct{ threads, blocks, shared, reserved int }

var limitsOf = map[string]limits{
	"sm_75":  {1024, 16, 64 << 10, 0},
	"sm_80":  {2048, 32, 164 << 10, 1 << 10},
	"sm_86":  {1536, 16, 100 << 10, 1 << 10},
	"sm_89":  {1536, 24, 100 << 10, 1 << 10},
	"sm_90":  {2048, 32, 228 << 10, 1 << 10},
	"sm_100": {2048, 32, 228 << 10, 1 << 10},
	"sm_120": {1536, 24, 100 << 10, 1 << 10},
}

// report assembles a folder's PTX for some architectures and prints a table of what a kernel takes on each: registers of a thread, blocks
// that fit a multiprocessor, and warps that makes.
func report(dir string, archs []string) error {
	if archs[0] == "all" {
		archs = slices.SortedFunc(maps.Keys(limitsOf), func(a, b string) int { return number(a[3:]) - number(b[3:]) })
	}
	ptxas, err := findPtxas(filepath.Join(dir, "..", ".."))
	if err != nil {
		return err
	}
	rings, err := ringsOf(dir)
	if err != nil {
		return err
	}
	var jobs []job
	for _, arch := range archs {
		if _, ok := limitsOf[arch]; !ok {
			return fmt.Errorf("architecture %s is unknown", arch)
		}
		paths, err := ptxOf(dir, arch)
		if err != nil {
			return err
		}
		for _, p := range paths {
			jobs = append(jobs, job{path: p, arch: arch})
		}
	}
	if err := each(jobs, func(j *job) error { return j.assemble(ptxas) }); err != nil {
		return err
	}
	found := map[string]map[string]usage{} // by kernel and architecture
	for _, j := range jobs {
		for kernel, u := range j.found {
			if found[kernel] == nil {
				found[kernel] = map[string]usage{}
			}
			found[kernel][j.arch] = u
		}
	}
	return printTable(found, rings, archs)
}

// job is a file to be assembled for an architecture.
type job struct {
	path, arch string
	found      map[string]usage // by kernel
}

// printTable prints a line for each kernel. The error is that registers were spilled.
func printTable(found map[string]map[string]usage, rings map[string]int, archs []string) error {
	fmt.Printf("%-28s %7s %7s", "kernel", "threads", "shared")
	for _, arch := range archs {
		fmt.Printf(" %13s", arch)
	}
	fmt.Println("   registers, blocks, warps")
	var spilled []string
	for _, kernel := range slices.Sorted(maps.Keys(found)) {
		line := ""
		var of usage // the same on all that have it
		for _, arch := range archs {
			u, ok := found[kernel][arch]
			if !ok {
				line += fmt.Sprintf(" %13s", "-")
				continue
			}
			u.shared += rings[kernel[:strings.LastIndexByte(kernel, '_')+1]]
			blocks := u.blocks(limitsOf[arch])
			line += fmt.Sprintf(" %13s", fmt.Sprintf("%d, %d, %d", u.registers, blocks, blocks*u.warps()))
			if of = u; u.spilled > 0 {
				spilled = append(spilled, fmt.Sprintf("%s on %s: %d bytes", kernel, arch, u.spilled))
			}
		}
		fmt.Printf("%-28s %7d %7d%s\n", kernel, of.threads, of.shared, line)
	}
	if spilled != nil {
		return fmt.Errorf("registers were spilled: %s", strings.Join(spilled, "; "))
	}
	return nil
}

// findPtxas is the program that HARK_PTXAS names, or else the one in root/.cache/cuda.
func findPtxas(root string) (string, error) {
	if p := os.Getenv("HARK_PTXAS"); p != "" {
		return p, nil
	}
	p, err := findInCache(root, "ptxas")
	if err != nil {
		return "", fmt.Errorf("%w: run scripts/cuda/setup.sh, or set HARK_PTXAS to the program of %s", err, ptxasWheel)
	}
	return p, nil
}

// ptxOf is the files that a driver would load on an architecture.
func ptxOf(dir, arch string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.ptx"))
	var some []string
	for _, p := range all {
		if strings.HasSuffix(p, architectures[1].suffix) == (arch == "sm_75") {
			some = append(some, p)
		}
	}
	return some, err
}

var (
	spillLine = regexp.MustCompile(`(\d+) bytes spill stores`)
	usedLine  = regexp.MustCompile(`Used (\d+) registers`)
	smemField = regexp.MustCompile(`(\d+) bytes smem`)
	threads   = regexp.MustCompile(`\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)`)
	tileLine  = regexp.MustCompile(`(?m)^ +(?:MATMUL|CONV)\((\w+_)##type, T, \w+, (\d+), (\d+), (\d+), \d+, \d+, (\d+)(?:, \d+)?\)`)
)

// assemble runs ptxas and reads what it says of each kernel.
func (j *job) assemble(ptxas string) error {
	ptx, err := os.ReadFile(j.path)
	if err != nil {
		return err
	}
	out, err := exec.Command(ptxas, "-v", "-arch="+j.arch, j.path, "-o", os.DevNull).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", j.path, j.arch, err, out)
	}
	most := map[string]int{}
	for _, m := range threads.FindAllStringSubmatch(string(ptx), -1) {
		most[m[1]] = number(m[2])
	}
	j.found = map[string]usage{}
	for _, text := range strings.Split(string(out), "Compiling entry function '")[1:] {
		kernel, text, _ := strings.Cut(text, "'")
		field := func(re *regexp.Regexp) int {
			if m := re.FindStringSubmatch(text); m != nil {
				return number(m[1])
			}
			return 0
		}
		j.found[kernel] = usage{threads: most[kernel], registers: field(usedLine), spilled: field(spillLine), shared: field(smemField)}
	}
	return nil
}

// ringsOf is the bytes of shared memory that a launch of a product gives for its ring of stages, by the kernel's name up to the
// format's. Other kernels' dynamic shared memory depends on shapes; it is not counted.
func ringsOf(dir string) (map[string]int, error) {
	rings := map[string]int{}
	sources, err := read(dir, "*.cu")
	for _, s := range sources {
		for _, m := range tileLine.FindAllStringSubmatch(s.text, -1) {
			rings[m[1]] = (number(m[2]) + number(m[3])) * number(m[4]) * number(m[5]) * 2
		}
	}
	return rings, err
}

// number is that of a string of digits.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err) // the expression that found it asks for digits
	}
	return n
}

func (u usage) warps() int { return (u.threads + 31) / 32 }

// blocks is how many blocks of a kernel fit a multiprocessor.
func (u usage) blocks(l limits) int {
	perWarp := (u.registers*32 + 255) / 256 * 256
	n := min(l.blocks, l.threads/(32*u.warps()), 65536/(perWarp*u.warps()))
	if u.shared > 0 {
		n = min(n, l.shared/(u.shared+l.reserved))
	}
	return n
}
