package cuda

import (
	"bytes"
	"fmt"

	"hark/engine/cuda/driver"
	kernels "hark/kernels/cuda"
)

// kernelSet is all kernels, by name. Their modules are loaded when one of theirs is first launched.
type kernelSet struct {
	named   map[string]*kernel
	modules []*module
}

// module is a file of kernels.
type module struct {
	name   string
	ptx    []byte
	handle driver.Module // 0: not loaded yet
}

// kernel is a function of a module. All but its name and id belongs to the executor's thread.
type kernel struct {
	module   *module
	name     string
	id       int
	function driver.Function // 0: not looked up yet
	shared   int             // the dynamic shared memory that it may have without asking
}

// freeSharedBytes is the dynamic shared memory that a block may have without asking, on every GPU.
const freeSharedBytes = 48 << 10

// newKernelSet reads the names of the kernels made for a GPU.
func newKernelSet(gpu driver.GPU) *kernelSet {
	s := &kernelSet{named: map[string]*kernel{}}
	for _, source := range kernels.Modules() {
		ptx := source.SM80
		if gpu.Capability() < 80 {
			ptx = source.SM75
		}
		s.add(source.Name, ptx)
	}
	return s
}

// add lists a module's kernels.
func (s *kernelSet) add(name string, ptx []byte) {
	m := &module{name: name, ptx: ptx}
	s.modules = append(s.modules, m)
	for _, entry := range entries(ptx) {
		s.named[entry] = &kernel{module: m, name: entry, id: len(s.named), shared: freeSharedBytes}
	}
}

// entries are the names of PTX's kernels: what stands behind .entry, up to a bracket.
func entries(ptx []byte) []string {
	var names []string
	for {
		_, rest, ok := bytes.Cut(ptx, []byte(".entry "))
		if !ok {
			return names
		}
		name, _, _ := bytes.Cut(rest, []byte("("))
		names = append(names, string(bytes.TrimSpace(name)))
		ptx = rest
	}
}

// find returns a kernel, or nil.
func (s *kernelSet) find(name string) *kernel { return s.named[name] }

// load gets a kernel ready for a launch with so much dynamic shared memory. It runs on the executor.
func (k *kernel) load(c *driver.Context, shared int) error {
	if k.module.handle == 0 {
		m, err := c.LoadModule(k.module.ptx)
		if err != nil {
			return fmt.Errorf("kernels of %s: %w", k.module.name, err)
		}
		k.module.handle = m
	}
	if k.function == 0 {
		f, err := c.Function(k.module.handle, k.name)
		if err != nil {
			return err
		}
		k.function = f
	}
	if shared > k.shared {
		if err := c.SetAttribute(k.function, driver.FuncMaxDynamicBytes, shared); err != nil {
			return fmt.Errorf("kernel %s: %d bytes of shared memory: %w", k.name, shared, err)
		}
		k.shared = shared
	}
	return nil
}

// unload lets go of the modules. None of their kernels is running.
func (s *kernelSet) unload(c *driver.Context) {
	for _, m := range s.modules {
		if m.handle != 0 {
			_ = c.UnloadModule(m.handle) // at the end nobody is left to be told
		}
	}
}
