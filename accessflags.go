package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"hark/access"
	"hark/server"
)

// keysVariable holds keys themselves, where a flag's variable would hold the file's name.
const keysVariable = "HARK_API_KEYS"

// watchEvery is how often files of keys and certificates are looked at.
const watchEvery = 2 * time.Second

// accessFlags say who may call.
type accessFlags struct {
	APIKeys    string   `name:"api-keys" env:"HARK_API_KEYS_FILE" group:"access" placeholder:"FILE" help:"Ask for an API key, one of those in this file: a line NAME:KEY [LIMIT=VALUE]... each, or with the key's hash in its place, as 'hark keys new' prints them. Read again when it changes. HARK_API_KEYS may hold keys instead, separated by commas (default: ask for none)."`
	Protect    []string `enum:"probes,metrics" group:"access" placeholder:"WHAT" help:"Ask for a key there too: probes (/healthz and /readyz), metrics, or both separated by a comma."`
	CORSOrigin []string `name:"cors-origin" group:"access" placeholder:"ORIGIN" help:"Origin of web pages that may use the server, such as https://example.org, or * for any; several times or separated by commas (default: none with keys, those of this machine without)."`
	TLSCert    string   `name:"tls-cert" group:"access" placeholder:"FILE" help:"Certificate in PEM, with those that vouch for it behind it: serve HTTPS. Read again when it changes."`
	TLSKey     string   `name:"tls-key" group:"access" placeholder:"FILE" help:"The certificate's private key in PEM."`
}

// doors are what the flags open.
type doors struct {
	keys *access.Keyring // nil: open to all
	cert *certificate    // nil: no TLS
}

// doors reads the files; the error names the flag.
func (f accessFlags) doors() (d doors, err error) {
	inline := os.Getenv(keysVariable)
	switch {
	case f.APIKeys != "" && inline != "":
		return d, &usage{fmt.Errorf("--api-keys: %s holds keys too: use one of them", keysVariable)}
	case f.APIKeys != "":
		if d.keys, err = access.Open(f.APIKeys); err != nil {
			return d, withHint(&usage{fmt.Errorf("--api-keys: %w", err)}, "`hark keys new NAME` prints a line for it")
		}
	case inline != "":
		if d.keys, err = access.Parse(inline); err != nil {
			return d, withHint(&usage{fmt.Errorf("%s: %w", keysVariable, err)},
				"it holds NAME:KEY, several separated by commas; for a file's name there is HARK_API_KEYS_FILE")
		}
	}
	if len(f.Protect) > 0 && d.keys == nil {
		return d, &usage{errors.New("--protect: there are no keys to ask for: give --api-keys")}
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return d, &usage{errors.New("--tls-cert and --tls-key: want both or none")}
	}
	if f.TLSCert != "" {
		if d.cert, err = openCertificate(f.TLSCert, f.TLSKey); err != nil {
			return d, &usage{fmt.Errorf("--tls-cert: %w", err)}
		}
	}
	return d, nil
}

// set fills in the server's part.
func (f accessFlags) set(cfg *server.Config, d doors) {
	cfg.Keys = d.keys
	cfg.ProtectProbes, cfg.ProtectMetrics = slices.Contains(f.Protect, "probes"), slices.Contains(f.Protect, "metrics")
	cfg.CORSOrigins = f.CORSOrigin
}

// guard puts TLS before a listener, if there is a certificate.
func (d doors) guard(l net.Listener) net.Listener {
	if d.cert == nil {
		return l
	}
	return tls.NewListener(l, &tls.Config{GetCertificate: d.cert.get, NextProtos: []string{"h2", "http/1.1"}})
}

// scheme is that of the server's URL.
func (d doors) scheme() string {
	if d.cert == nil {
		return "http"
	}
	return "https"
}

// watch keeps what was read from files up to date until ctx ends.
func (f accessFlags) watch(ctx context.Context, d doors, log zerolog.Logger) {
	if f.APIKeys != "" {
		go d.keys.Watch(ctx, watchEvery, func(err error) {
			if err != nil {
				log.Error().Err(err).Msg("the file of keys can't be used: the old keys stay")
				return
			}
			log.Info().Int("keys", d.keys.Len()).Msg("keys were read again")
		})
	}
	if d.cert != nil {
		go d.cert.watch(ctx, watchEvery, func(err error) {
			if err != nil {
				log.Error().Err(err).Msg("the certificate can't be used: the old one stays")
				return
			}
			log.Info().Time("until", d.cert.until()).Msg("the certificate was read again")
		})
	}
}

// examine tells what the flags, if any are set, open to whom.
func (f accessFlags) examine(table io.Writer, now time.Time) []finding {
	d, err := f.doors()
	if err != nil {
		return []finding{{broken: true, text: err.Error()}}
	}
	if d.keys != nil {
		fmt.Fprintf(table, "keys\t%d\n", d.keys.Len())
	}
	if d.cert == nil {
		return nil
	}
	until := d.cert.until()
	fmt.Fprintf(table, "TLS\tcertificate until %s\n", until.Local().Format("2006-01-02 15:04"))
	if until.Before(now) {
		return []finding{{broken: true, text: "--tls-cert: the certificate has expired: renew it"}}
	}
	return nil
}
