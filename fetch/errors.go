package fetch

import (
	"fmt"
	"net/netip"
	"time"
)

// RefusedError is a URL that is not called: its form, or what its address is.
type RefusedError struct {
	// Host is the host that is not called; "" where the URL has none.
	Host string
	// Addr is the address that it stands for; not valid where the URL was refused for its form.
	Addr netip.Addr
	// Reason completes "the URL …": "names a private network".
	Reason string
	// Private says that allowing private networks would allow it.
	Private bool
}

func (e *RefusedError) Error() string {
	if e.Host == "" {
		return "the URL " + e.Reason
	}
	return fmt.Sprintf("the URL's host %q %s", e.Host, e.Reason)
}

// StatusError is an answer other than 200.
type StatusError struct{ Status int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("the URL was answered with status %d, want 200", e.Status)
}

// SizeError is a file larger than is accepted.
type SizeError struct{ Max int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("the URL's file is larger than %d bytes", e.Max)
}

// TimeError is a file that took too long, in all or standing still.
type TimeError struct {
	Max  time.Duration
	Idle bool
}

func (e *TimeError) Error() string {
	if e.Idle {
		return fmt.Sprintf("nothing came from the URL for %v", e.Max)
	}
	return fmt.Sprintf("the URL's file took longer than %v", e.Max)
}

// RedirectError is a chain of redirects that was given up.
type RedirectError struct{ Max int }

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the URL redirects more than %d times", e.Max)
}

// NetworkError is a host that can't be reached, or a file that broke off.
type NetworkError struct{ Err error }

func (e *NetworkError) Error() string { return "the URL can't be read: " + e.Err.Error() }

func (e *NetworkError) Unwrap() error { return e.Err }
