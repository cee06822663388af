package access

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	write(t, path, "alice:"+keyA+" rpm=1")
	k, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	alice := k.Find(keyA)
	if err := alice.Enter(day); err != nil {
		t.Fatal(err)
	}
	if changed, err := k.Reload(); changed || err != nil {
		t.Errorf("unchanged: got %v, %v", changed, err)
	}

	write(t, path, "alice:"+keyB+" rpm=1 concurrent=9")
	if changed, err := k.Reload(); !changed || err != nil {
		t.Errorf("changed: got %v, %v", changed, err)
	}
	if k.Find(keyA) != nil || k.Find(keyB) != alice {
		t.Error("the new key is not alice's, or the old one still is")
	}
	refusal(t, alice.Enter(day))

	write(t, path, "alice "+keyA)
	if changed, err := k.Reload(); changed || err == nil || !strings.HasPrefix(err.Error(), path+": line 1: ") {
		t.Errorf("broken: got %v, %v", changed, err)
	}
	if changed, err := k.Reload(); changed || err != nil {
		t.Errorf("broken, the second time: got %v, %v", changed, err)
	}
	if k.Find(keyB) != alice {
		t.Error("a broken list took a key away")
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Reload(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: got %v", err)
	}
	if _, err := k.Reload(); err != nil {
		t.Errorf("gone, the second time: got %v", err)
	}
	write(t, path, "bob:"+keyA)
	if changed, err := k.Reload(); !changed || err != nil || k.Find(keyA).Name() != "bob" || k.Find(keyB) != nil {
		t.Errorf("back: got %v, %v", changed, err)
	}
}

func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	write(t, path, "alice:"+keyA)
	k, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	told, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		k.Watch(ctx, time.Millisecond, func(err error) { told <- err })
	}()
	write(t, path, "nonsense")
	if err := <-told; err == nil {
		t.Error("a broken list is taken")
	}
	write(t, path, "alice:"+keyA+"\nbob:"+keyB)
	if err := <-told; err != nil {
		t.Error(err)
	}
	if c := k.Find(keyB); c == nil || c.Name() != "bob" {
		t.Errorf("got %v, want bob", c)
	}
	cancel()
	<-ended
}
