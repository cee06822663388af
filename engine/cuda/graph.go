package cuda

import (
	"hash/maphash"

	"hark/engine/cuda/driver"
)

const (
	// graphCommands is from how many commands on a graph pays: launching one takes as long as a few kernels.
	graphCommands = 4
	// graphsKept bounds the graphs that are kept: a batch that shrinks makes one for each size, a beam some more.
	graphsKept = 128
	// keysKept bounds the segments that are remembered as seen once.
	keysKept = 1024
)

// graphs are the segments that were seen before, ready to be launched as one. It belongs to the executor's thread.
type graphs struct {
	off   bool // everything is submitted command by command
	ready map[string]*recording
	clock uint64

	hash maphash.Seed
	seen map[uint64]bool // hashes of segments that ran once
	ring []uint64        // the same, oldest first from next on
	next int
}

// recording is a segment as a graph.
type recording struct {
	exec driver.Exec // 0: it can't be recorded
	used uint64      // when, by the clock
}

func newGraphs(off bool) *graphs {
	return &graphs{off: off, ready: map[string]*recording{}, hash: maphash.MakeSeed(), seen: map[uint64]bool{}}
}

// run submits a segment: by its graph if there is one, recording it if it was seen before, else command by command.
func (g *graphs) run(c *driver.Context, s *segment, stream driver.Stream) error {
	if g.off || len(s.commands) < graphCommands {
		return submitAll(c, s, stream)
	}
	g.clock++
	r := g.ready[string(s.key)]
	if r == nil {
		if !g.seenBefore(s.key) {
			return submitAll(c, s, stream)
		}
		r = &recording{exec: record(c, s, stream)}
		if err := g.keep(c, string(s.key), r, stream); err != nil {
			return err
		}
	}
	r.used = g.clock
	if r.exec == 0 {
		return submitAll(c, s, stream)
	}
	if err := c.LaunchGraph(r.exec, stream); !driver.IsOutOfMemory(err) {
		return err
	}
	// A graph takes memory of its own when it is first launched, and there is none: one by one the commands need none.
	if err := g.drop(c, string(s.key), stream); err != nil {
		return err
	}
	return submitAll(c, s, stream)
}

// submitAll submits a segment command by command.
func submitAll(c *driver.Context, s *segment, stream driver.Stream) error {
	for _, cmd := range s.commands {
		if err := cmd.submit(c, stream); err != nil {
			return err
		}
	}
	return nil
}

// record makes a graph of a segment, or 0 where the driver won't have it.
func record(c *driver.Context, s *segment, stream driver.Stream) driver.Exec {
	if c.BeginCapture(stream) != nil {
		return 0
	}
	failure := submitAll(c, s, stream)
	graph, err := c.EndCapture(stream)
	if err != nil {
		return 0
	}
	var exec driver.Exec
	if failure == nil {
		if exec, err = c.Instantiate(graph); err != nil {
			exec = 0
		}
	}
	_ = c.DestroyGraph(graph) // of what was just made
	return exec
}

// seenBefore remembers a segment and reports whether it ran before. That two have the same hash does no
// harm: one of them is recorded too early.
func (g *graphs) seenBefore(key []byte) bool {
	h := maphash.Bytes(g.hash, key)
	if g.seen[h] {
		return true
	}
	g.seen[h] = true
	if len(g.ring) < keysKept {
		g.ring = append(g.ring, h)
		return false
	}
	delete(g.seen, g.ring[g.next])
	g.ring[g.next] = h
	g.next = (g.next + 1) % keysKept
	return false
}

// keep adds a recording, in the place of the one used longest ago if there are too many.
func (g *graphs) keep(c *driver.Context, key string, r *recording, stream driver.Stream) error {
	if len(g.ready) >= graphsKept {
		oldest, used := "", g.clock
		for k, other := range g.ready {
			if other.used < used {
				oldest, used = k, other.used
			}
		}
		if err := g.drop(c, oldest, stream); err != nil {
			return err
		}
	}
	g.ready[key] = r
	return nil
}

// drop lets go of a recording, once it is not running any more.
func (g *graphs) drop(c *driver.Context, key string, stream driver.Stream) error {
	r := g.ready[key]
	delete(g.ready, key)
	if r.exec == 0 {
		return nil
	}
	if err := c.SynchronizeStream(stream); err != nil {
		return err
	}
	return c.DestroyExec(r.exec)
}

// close lets go of all recordings. Nothing is running any more.
func (g *graphs) close(c *driver.Context) {
	for _, r := range g.ready {
		if r.exec != 0 {
			_ = c.DestroyExec(r.exec) // at the end nobody is left to be told
		}
	}
	clear(g.ready)
}
