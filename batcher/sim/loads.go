package sim

import (
	"fmt"
	"strings"
	"time"

	"hark/batcher"
)

// Load is who asks for what.
type Load struct {
	Name, About string

	clients []client
	cap     int64   // the cost cap, fixed, under every policy; 0 leaves it to the policy
	device  *Device // nil for the one that is asked for
}

// client asks for one thing after the other.
type client struct {
	caller  string
	lane    batcher.Lane
	lengths []float64 // seconds of audio of its requests, over and over
	first   time.Duration
	every   time.Duration // it asks at the next multiple of this, instead of at once
	patient time.Duration // until it gives up
}

// A recording is cut into windows of 30 s, each of which takes 0.6 s alone.
const (
	windowSeconds  = 30.0
	alonePerSecond = 0.6 / windowSeconds
)

// patience is the clients' time-out.
const patience = 240 * time.Second

// Loads returns all loads.
func Loads() []Load {
	return []Load{
		{Name: "recordings", About: "8 clients with recordings of about 10 minutes", clients: recordings(8, 2)},
		{Name: "mixed", About: "16 clients with clips, 4 with recordings of 10 minutes", clients: mixed()},
		{Name: "parakeet-clips", About: "16 clients with clips of about 8 s, on a faster model",
			clients: clips(16, patience, 7.6, 8.4), device: &parakeet},
		{Name: "clips48-65536", About: "48 clients with clips, 4 with recordings, cap 65 536, clips give up after 120 s", clients: append(clips(48, 120*time.Second, 2, 20), recordings(4, 0)...), cap: 65_536},
		{Name: "cap180000", About: "mixed at a cap of 180 000", clients: mixed(), cap: 180_000},
		{Name: "cap16384", About: "mixed at a cap of 16 384", clients: mixed(), cap: 16_384},
		{Name: "cap4096", About: "mixed at a cap of 4 096", clients: mixed(), cap: 4096},
		{Name: "bursts", About: "40 clients send a clip at once every minute, 4 have recordings of 10 minutes",
			clients: append(bursts(40), recordings(4, 0)...)},
		{Name: "one-caller-1000", About: "one caller sends 1 000 clips at once, again and again; another sends one at a time", clients: thousand()},
		{Name: "podcast-among-notes", About: "recordings of 3 hours among notes of 45 s", clients: podcast()},
	}
}

// LoadNamed returns the load of that name.
func LoadNamed(name string) (Load, error) {
	var names []string
	for _, l := range Loads() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return Load{}, fmt.Errorf("sim: unknown load %q, want one of: %s", name, strings.Join(names, ", "))
}

// clips are n clients, each with clips of one length, evenly from shortest to longest, in seconds.
func clips(n int, patient time.Duration, shortest, longest float64) []client {
	var all []client
	for i := range n {
		length := shortest + (longest-shortest)*float64(i)/float64(n-1)
		all = append(all, client{caller: fmt.Sprintf("clip-%02d", i), lane: batcher.Clips,
			lengths: []float64{length}, patient: patient})
	}
	return all
}

// recordings are n clients with recordings of 20 windows, each client's shorter than
// the one before's by so many seconds.
func recordings(n int, shorter float64) []client {
	var all []client
	for i := range n {
		length := 600 - shorter*float64(i)
		all = append(all, client{caller: fmt.Sprintf("recording-%d", i), lane: batcher.Recordings,
			lengths: []float64{length}, patient: patience})
	}
	return all
}

// mixed has mostly short clips, and two clients with long ones.
func mixed() []client {
	all := clips(14, patience, 2.4, 3.8)
	for i, length := range []float64{17, 25} {
		all = append(all, client{caller: fmt.Sprintf("long-clip-%d", i), lane: batcher.Clips,
			lengths: []float64{length}, patient: patience})
	}
	return append(all, recordings(4, 0)...)
}

func bursts(n int) []client {
	all := clips(n, patience, 2, 15)
	for i := range all {
		all[i].first, all[i].every = 10*time.Second, time.Minute
	}
	return all
}

func thousand() []client {
	var all []client
	for i := range 1000 {
		all = append(all, client{caller: "many", lane: batcher.Clips,
			lengths: []float64{3 + float64(i%10)}, patient: patience})
	}
	return append(all, client{caller: "one", lane: batcher.Clips, lengths: []float64{8},
		first: time.Second, patient: patience})
}

func podcast() []client {
	all := []client{{caller: "podcast", lane: batcher.Recordings, lengths: []float64{3 * 3600}, patient: time.Hour}}
	for i := range 6 {
		all = append(all, client{caller: fmt.Sprintf("note-%d", i), lane: batcher.Recordings, lengths: []float64{45},
			first: time.Second, patient: patience})
	}
	return all
}
