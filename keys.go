package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"hark/access"
)

// keysCmd makes lines for the file that serve --api-keys reads.
type keysCmd struct {
	New  keysNewCmd  `cmd:"" help:"Make a key: prints the line for the file of keys, and on stderr the key for whoever is to have it."`
	Hash keysHashCmd `cmd:"" help:"Read a key from stdin and print the line for the file of keys, which then does not hold the key itself."`
}

// keyOwner is who a key is for, and what he may ask for.
type keyOwner struct {
	Name   string   `arg:"" help:"Who calls with it: what logs show. The same name again is a second key of that caller."`
	Limits []string `arg:"" optional:"" placeholder:"LIMIT=VALUE" help:"rpm=N requests a minute, audio-per-minute=TIME and audio-per-hour=TIME of audio (90s, 10m, 2h), concurrent=N requests at once (default: no limits); weight=X how much of the device it gets beside others (default: 1)."`
}

// line is the line of a key that is not to be seen in it.
func (o keyOwner) line(key string) (string, error) {
	if err := access.CheckName(o.Name); err != nil {
		return "", &usage{fmt.Errorf("%q: %w", o.Name, err)}
	}
	limits, err := access.ParseLimits(o.Limits)
	if err != nil {
		return "", &usage{err}
	}
	return access.Line(o.Name, access.HashText(key), limits) + "\n", nil
}

type keysNewCmd struct {
	keyOwner `embed:""`
}

func (k *keysNewCmd) Run(c *console) error {
	key := access.NewKey()
	line, err := k.line(key)
	if err != nil {
		return err
	}
	if err := c.write([]byte(line)); err != nil {
		return err
	}
	c.note("the key of %s, which is kept nowhere: %s", k.Name, key)
	return nil
}

type keysHashCmd struct {
	keyOwner `embed:""`
}

func (k *keysHashCmd) Run(c *console) error {
	key, err := bufio.NewReader(io.LimitReader(c.in, 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the key from stdin: %w", err)
	}
	key = strings.TrimSpace(key)
	if err := access.CheckKey(key); err != nil {
		return fmt.Errorf("the key from stdin: %w", err)
	}
	line, err := k.line(key)
	if err != nil {
		return err
	}
	return c.write([]byte(line))
}
