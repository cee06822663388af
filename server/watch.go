package server

import "time"

// progressEvery is how often Progress is told.
const progressEvery = 100 * time.Millisecond

// watch tells report how a job comes on, until the returned function is called.
func watch(job *series, report func(done, total time.Duration)) (stop func(finished bool)) {
	if report == nil {
		return func(bool) {}
	}
	tell := func(finished bool) {
		done, total := job.Progress()
		if finished {
			done = total
		}
		report(sampleTime(done), sampleTime(total))
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell(false)
			case <-quit:
				return
			}
		}
	}()
	return func(finished bool) {
		close(quit)
		<-ended
		if finished {
			tell(true)
		}
	}
}
