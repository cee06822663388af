package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// console is where a command reads and writes: results go to stdout, everything said about them to stderr. Where
// stderr is a terminal it also keeps one line of progress below everything else. Safe for concurrent use.
type console struct {
	in       io.Reader
	terminal bool // stderr is one

	mu       sync.Mutex
	out, err io.Writer
	drawn    bool // the last thing on stderr is a line of progress
}

func newConsole(stdin io.Reader, stdout, stderr io.Writer) *console {
	return &console{in: stdin, out: stdout, err: stderr, terminal: isTerminal(stderr)}
}

// isTerminal reports whether stream is a terminal; anything but a file is none.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// note prints a line on stderr.
func (c *console) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	fmt.Fprintln(c.err, printable(fmt.Sprintf(format, args...)))
}

// report prints an error and its hint on stderr.
func (c *console) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	report(c.err, err)
}

// write prints a result on stdout.
func (c *console) write(p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	_, err := c.out.Write(p)
	return err
}

// draw shows line as progress in place of the one before, if stderr is a terminal.
func (c *console) draw(line string) {
	if !c.terminal {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if width, _, err := term.GetSize(int(c.err.(*os.File).Fd())); err == nil && width > 0 && len(line) >= width {
		line = line[:width-1]
	}
	fmt.Fprintf(c.err, "\r%s\x1b[K", line)
	c.drawn = true
}

// clear takes the line of progress away.
func (c *console) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
}

func (c *console) erase() {
	if c.drawn {
		fmt.Fprint(c.err, "\r\x1b[K")
		c.drawn = false
	}
}
