package sim

import (
	"container/heap"
	"context"
	"math"
	"time"

	"hark/batcher"
)

// Run simulates a policy under a load for so long and returns what came of it, or ctx's error.
func Run(ctx context.Context, p Policy, l Load, d Device, duration time.Duration) (*Result, error) {
	d.SameCost = d.SameCost || p.sameCost
	if l.device != nil {
		same := d.SameCost
		d = *l.device
		d.SameCost = same
	}
	c := p.config
	if l.cap > 0 {
		c.CostCapMillis, c.NoAdapt = l.cap, true
	}
	if p.sameCost && c.RecordingsShare == 0 {
		c.RecordingsShare = shareOfLanes(l, c.CostCapMillis, d)
	}
	s := &simulation{
		policy: p,
		device: d,
		former: batcher.NewFormer[*window](c),
		owner:  make(map[*batcher.Item[*window]]*request),
		result: &Result{Policy: p.Name, Load: l.Name, Duration: duration, longest: make(map[string]time.Duration)},
	}
	for i := range l.clients {
		cl := &l.clients[i]
		s.at(cl.first, func() { s.ask(cl) })
	}
	for len(s.events) > 0 && s.events[0].at <= duration {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	s.now = duration
	s.cutOff()
	s.result.finish()
	return s.result, nil
}

// epoch is the virtual time at which a run starts.
var epoch = time.Unix(0, 0)

type simulation struct {
	policy Policy
	device Device
	former *batcher.Former[*window]
	owner  map[*batcher.Item[*window]]*request
	events events
	serial int
	now    time.Duration
	runs   *batcher.Batch[*window] // on the device; nil if it is idle
	began  time.Duration           // when that batch began
	ends   time.Duration
	wakeAt time.Duration // of the wake-up that is due
	result *Result
}

// request is one thing that a client has asked for.
type request struct {
	client *client
	item   batcher.Item[*window]
	asked  time.Duration
	audio  float64 // of its windows that have run, in seconds
	over   bool
}

func (s *simulation) at(t time.Duration, do func()) {
	s.serial++
	heap.Push(&s.events, event{t, s.serial, do})
}

func (s *simulation) time() time.Time { return epoch.Add(s.now) }

// ask has a client ask for its next thing.
func (s *simulation) ask(c *client) {
	r := &request{client: c, asked: s.now}
	length := c.lengths[0]
	r.item.Request = batcher.Request[*window]{
		Lane:       c.lane,
		CostMillis: int64(math.Round(length * 1000)),
		Caller:     c.caller,
		Work:       s.work(c.lane, length),
	}
	s.owner[&r.item] = r
	s.former.Add(&r.item, s.time())
	s.at(s.now+c.patient, func() { s.giveUp(r) })
	s.dispatch()
}

// work cuts a request into windows.
func (s *simulation) work(lane batcher.Lane, length float64) *work {
	if lane == batcher.Clips {
		return &work{left: []*window{{audio: length}}}
	}
	alone := length * alonePerSecond
	if s.policy.whole {
		return &work{left: []*window{{audio: length, alone: alone}}}
	}
	w := &work{}
	n := math.Ceil(length / windowSeconds)
	for range int(n) {
		next := &window{audio: length / n}
		if s.device.SameCost {
			next.alone = alone / n
		}
		w.left = append(w.left, next)
	}
	return w
}

// again has a client ask again.
func (s *simulation) again(c *client) {
	next := s.now
	if c.every > 0 {
		next = c.first + (s.now-c.first)/c.every*c.every + c.every
	}
	s.at(next, func() { s.ask(c) })
}

func (s *simulation) giveUp(r *request) {
	if r.over {
		return
	}
	r.over = true
	s.former.Remove(&r.item)
	delete(s.owner, &r.item)
	s.result.timedOut(r.client.lane, r.audio)
	s.again(r.client)
}

// dispatch has an idle device run the next batch, if there is one.
func (s *simulation) dispatch() {
	if s.runs != nil {
		return
	}
	if until, hold := s.former.Hold(s.time()); hold {
		if t := until.Sub(epoch); t != s.wakeAt {
			s.wakeAt = t
			s.at(t, s.dispatch)
		}
		return
	}
	b, _ := s.former.Next(s.time())
	if b == nil {
		return
	}
	s.runs, s.began = b, s.now
	s.ends = s.now + time.Duration(s.device.takes(b.Windows())*float64(time.Second))
	s.at(s.ends, s.finish)
}

// finish ends a batch. The next one is formed before those who are answered can ask again.
func (s *simulation) finish() {
	b := s.runs
	s.runs = nil
	s.credit(b, 1)
	s.result.batch(b, s.began, s.now, s.former)
	ended := s.former.Done(s.time())
	for _, it := range ended {
		r := s.owner[it]
		r.over = true
		delete(s.owner, it)
		s.result.served(r.client.lane, r.client.caller, s.now-r.asked)
		s.again(r.client)
	}
	s.dispatch()
}

// credit counts a part of a batch's audio as transcribed.
func (s *simulation) credit(b *batcher.Batch[*window], part float64) {
	for _, p := range b.Parts {
		r := s.owner[p.Item]
		if r == nil { // given up meanwhile
			continue
		}
		for _, w := range p.Windows {
			r.audio += part * w.audio
			s.result.audio += part * w.audio
		}
	}
}

// cutOff counts the batch that runs when the run is over, as far as it has come.
func (s *simulation) cutOff() {
	if b := s.runs; b != nil && s.ends > s.began {
		s.credit(b, float64(s.now-s.began)/float64(s.ends-s.began))
		s.result.batch(b, s.began, s.now, s.former)
	}
}

// work hands out a request's windows.
type work struct{ left []*window }

// Next implements batcher.Work.
func (w *work) Next(most int) []*window {
	n := min(most, len(w.left))
	next := w.left[:n]
	w.left = w.left[n:]
	return next
}

// event is something that happens; of two at the same time, the one that was scheduled first.
type event struct {
	at     time.Duration
	serial int
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].serial < e[j].serial
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}
