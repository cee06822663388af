package fetch

import (
	"net/netip"
)

// The kinds of addresses that are refused, in the words of messages.
const (
	kindLoopback  = "this machine itself"
	kindPrivate   = "a private network"
	kindLinkLocal = "a link-local address, as metadata services have"
	kindMetadata  = "a metadata service"
	kindReserved  = "no single public host"
)

// never are refused whatever the settings: no file lies there that a stranger may want.
var never = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), kindLinkLocal},    // RFC 3927; .169.254 is the metadata service of most clouds
	{netip.MustParsePrefix("fe80::/10"), kindLinkLocal},         // RFC 4291
	{netip.MustParsePrefix("168.63.129.16/32"), kindMetadata},   // Azure's, "What is IP address 168.63.129.16"
	{netip.MustParsePrefix("100.100.100.200/32"), kindMetadata}, // Alibaba Cloud's
	{netip.MustParsePrefix("fd00:ec2::254/128"), kindMetadata},  // AWS's over IPv6
	{netip.MustParsePrefix("0.0.0.0/8"), kindReserved},          // RFC 1122; Linux takes 0.0.0.0 for itself
	{netip.MustParsePrefix("::/128"), kindReserved},
	{netip.MustParsePrefix("192.0.0.0/24"), kindReserved},    // RFC 6890
	{netip.MustParsePrefix("192.0.2.0/24"), kindReserved},    // RFC 5737, for documents
	{netip.MustParsePrefix("198.51.100.0/24"), kindReserved}, // the same
	{netip.MustParsePrefix("203.0.113.0/24"), kindReserved},  // the same
	{netip.MustParsePrefix("224.0.0.0/4"), kindReserved},     // multicast
	{netip.MustParsePrefix("240.0.0.0/4"), kindReserved},     // RFC 1112, and broadcast
	{netip.MustParsePrefix("ff00::/8"), kindReserved},        // multicast
	{netip.MustParsePrefix("100::/64"), kindReserved},        // RFC 6666, discarded
	{netip.MustParsePrefix("2001:db8::/32"), kindReserved},   // RFC 3849, for documents
}

// private are refused unless private networks are allowed.
var private = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), kindLoopback},
	{netip.MustParsePrefix("::1/128"), kindLoopback},
	{netip.MustParsePrefix("10.0.0.0/8"), kindPrivate}, // RFC 1918
	{netip.MustParsePrefix("172.16.0.0/12"), kindPrivate},
	{netip.MustParsePrefix("192.168.0.0/16"), kindPrivate},
	{netip.MustParsePrefix("100.64.0.0/10"), kindPrivate}, // RFC 6598, behind a provider's address translation
	{netip.MustParsePrefix("198.18.0.0/15"), kindPrivate}, // RFC 2544, for benchmarks
	{netip.MustParsePrefix("fc00::/7"), kindPrivate},      // RFC 4193, unique local
	{netip.MustParsePrefix("fec0::/10"), kindPrivate},     // RFC 3879, site-local, given up
}

// refusal says what kind of address it is if it may not be dialled, else "".
func refusal(addr netip.Addr, allowPrivate bool) string {
	addr = addr.WithZone("").Unmap()
	for _, p := range never {
		if p.prefix.Contains(addr) {
			return p.kind
		}
	}
	if !allowPrivate {
		for _, p := range private {
			if p.prefix.Contains(addr) {
				return p.kind
			}
		}
	}
	if inner, ok := embedded(addr); ok {
		return refusal(inner, allowPrivate)
	}
	return ""
}

// embedded is the IPv4 address that an IPv6 address leads to through a translator or a tunnel.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() || addr.IsLoopback() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	at := -1
	switch {
	case nat64.Contains(addr), compatible.Contains(addr):
		at = 12
	case nat64Local.Contains(addr): // where the address lies depends on the network's prefix; with the usual /96, at the end
		at = 12
	case sixToFour.Contains(addr):
		at = 2
	case teredo.Contains(addr): // the client's address lies there with all bits turned
		for i := 12; i < 16; i++ {
			b[i] ^= 0xff
		}
		at = 12
	default:
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[at : at+4])), true
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291, IPv4-compatible, given up
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
)
