package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// makeCertificate writes a certificate for this machine with a serial number, and its key.
func makeCertificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	written := time.Unix(1e9+serial, 0) // so that the time always differs
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS: what is served behind the flags' certificate is HTTPS, over HTTP/2, and a
// renewed one is used without a restart.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	makeCertificate(t, dir, 1)
	d, err := accessFlags{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")}.doors()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.Proto)) })}
	go hs.Serve(d.guard(l))
	defer hs.Close()
	serial := func() int64 {
		t.Helper()
		// The certificate vouches for itself; whether it can be trusted is not what is tried.
		client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		defer client.CloseIdleConnections()
		answer, err := client.Get(d.scheme() + "://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.ProtoMajor != 2 {
			t.Errorf("got %s, want HTTP/2", answer.Proto)
		}
		return answer.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("got certificate %d, want 1", got)
	}

	makeCertificate(t, dir, 2)
	ctx, cancel := context.WithCancel(context.Background())
	told, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		d.cert.watch(ctx, time.Millisecond, func(err error) { told <- err })
	}()
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("got certificate %d, want 2", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-told; err == nil {
		t.Error("a broken key is taken")
	}
	if got := serial(); got != 2 {
		t.Errorf("got certificate %d, want the old one, 2", got)
	}
	cancel()
	<-ended
}

func TestAccessFlagsRefuse(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("# none yet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	makeCertificate(t, dir, 1)
	cert := filepath.Join(dir, "cert.pem")
	for want, f := range map[string]accessFlags{
		"--api-keys: " + empty + ": no keys":                        {APIKeys: empty},
		"--api-keys: open " + dir + "/none":                         {APIKeys: dir + "/none"},
		"--protect: there are no keys to ask for: give --api-keys":  {Protect: []string{"metrics"}},
		"--tls-cert and --tls-key: want both or none":               {TLSKey: cert},
		"--tls-cert: stat " + dir + "/none":                         {TLSCert: dir + "/none", TLSKey: cert},
		"--tls-cert: tls: found a certificate rather than a key in": {TLSCert: cert, TLSKey: cert},
	} {
		if _, err := f.doors(); err == nil || !strings.HasPrefix(err.Error(), want) || exitCode(err) != 2 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	t.Setenv(keysVariable, "alice:hark_a_key_that_is_long")
	if _, err := (accessFlags{APIKeys: empty}).doors(); err == nil || !strings.Contains(err.Error(), keysVariable) {
		t.Errorf("got %v", err)
	}
	if d, err := (accessFlags{}).doors(); err != nil || d.keys.Len() != 1 {
		t.Errorf("keys in the environment: got %v", err)
	}
}
