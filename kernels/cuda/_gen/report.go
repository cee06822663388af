package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ptxasWheel holds the assembler, the program that a driver has built in. A later release than NVRTC's knows later architectures.
const ptxasWheel = "nvidia-cuda-nvcc-cu12==12.9.86"

// usage is what a kernel takes of a GPU.
type usage struct {
	kernel                            string
	registers, spilled, shared, block int // a thread's registers and bytes spilled; a block's static shared memory and most threads
}

// limits of a multiprocessor: its threads, blocks and shared memory. Registers are 65,536 in all, in units of 256 a warp. (CUDA C++
// Programming Guide, "Technical Specifications per Compute Capability".)
var limits = map[string]struct{ threads, blocks, shared int }{
	"sm_75":  {1024, 16, 64 << 10},
	"sm_80":  {2048, 32, 164 << 10},
	"sm_86":  {1536, 16, 100 << 10},
	"sm_89":  {1536, 24, 100 << 10},
	"sm_90":  {2048, 32, 228 << 10},
	"sm_100": {2048, 32, 228 << 10},
	"sm_120": {1536, 24, 100 << 10},
}

// report assembles a folder's PTX for some architectures and prints a table: registers and blocks that fit a multiprocessor.
func report(dir string, archs []string) error {
	ptxas, err := findPtxas(filepath.Join(dir, "..", ".."))
	if err != nil {
		return err
	}
	spills := 0
	for _, arch := range archs {
		if _, ok := limits[arch]; !ok {
			return fmt.Errorf("architecture %s is unknown", arch)
		}
		paths, err := ptxOf(dir, arch)
		if err != nil {
			return err
		}
		fmt.Printf("%-8s %-28s %8s %9s %6s %7s %6s\n", "arch", "kernel", "threads", "registers", "shared", "spilled", "blocks")
		for _, p := range paths {
			kernels, err := assemble(ptxas, p, arch)
			if err != nil {
				return err
			}
			for _, u := range kernels {
				fmt.Printf("%-8s %-28s %8d %9d %6d %7d %6d\n", arch, u.kernel, u.block, u.registers, u.shared, u.spilled, u.blocks(arch))
				spills += u.spilled
			}
		}
	}
	if spills > 0 {
		return fmt.Errorf("%d bytes of registers spilled", spills)
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
	entryLine = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	spillLine = regexp.MustCompile(`(\d+) bytes spill stores`)
	usedLine  = regexp.MustCompile(`Used (\d+) registers`)
	smemField = regexp.MustCompile(`(\d+) bytes smem`)
	threads   = regexp.MustCompile(`\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)`)
)

// assemble runs ptxas on a file and reads what it says of each kernel.
func assemble(ptxas, path, arch string) ([]usage, error) {
	ptx, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	blocks := map[string]int{}
	for _, m := range threads.FindAllStringSubmatch(string(ptx), -1) {
		blocks[m[1]], _ = strconv.Atoi(m[2])
	}
	out, err := exec.Command(ptxas, "-v", "-arch="+arch, path, "-o", os.DevNull).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s for %s: %w\n%s", path, arch, err, out)
	}
	var all []usage
	for line := range strings.Lines(string(out)) {
		if m := entryLine.FindStringSubmatch(line); m != nil {
			all = append(all, usage{kernel: m[1], block: blocks[m[1]]})
		}
		if len(all) == 0 {
			continue
		}
		u := &all[len(all)-1]
		for re, field := range map[*regexp.Regexp]*int{spillLine: &u.spilled, usedLine: &u.registers, smemField: &u.shared} {
			if m := re.FindStringSubmatch(line); m != nil {
				*field, _ = strconv.Atoi(m[1])
			}
		}
	}
	return all, nil
}

// blocks is how many blocks of a kernel fit a multiprocessor, by registers, threads and static shared memory.
func (u usage) blocks(arch string) int {
	l := limits[arch]
	warps := (u.block + 31) / 32
	perWarp := (u.registers*32 + 255) / 256 * 256
	n := min(l.blocks, l.threads/max(warps*32, 1), 65536/max(perWarp*warps, 1))
	if u.shared > 0 {
		n = min(n, l.shared/u.shared)
	}
	return n
}
