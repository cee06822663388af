//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package models

import "context"

// lock keeps the pulls of one process apart where the system has no flock: two
// processes must not pull the same model at once there.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	select {
	case oneProcess <- struct{}{}:
	default:
		waiting()
		select {
		case oneProcess <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func() { <-oneProcess }, nil
}

var oneProcess = make(chan struct{}, 1)
