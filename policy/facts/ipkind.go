package facts

import (
	"net/netip"
	"strings"
)

// metadataAddrs answer with credentials of the machine in some cloud.
var metadataAddrs = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
}

// closedNets are no part of the public network.
var closedNets = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001:db8::/32"),
}

// addrKind is the kind of an address without zone. One that carries an IPv4
// address within is of that address's kind, unless that is public.
func addrKind(a netip.Addr) string {
	for _, m := range metadataAddrs {
		if a == m {
			return "metadata"
		}
	}
	switch {
	case a.IsUnspecified() || a.Is4() && a.As4()[0] == 0:
		return "unspecified"
	case a.IsLoopback():
		return "loopback"
	case a.IsLinkLocalUnicast():
		return "link_local"
	case a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "multicast"
	case a.IsPrivate():
		return "private"
	}
	for _, net := range closedNets {
		if net.Contains(a) {
			return "private"
		}
	}
	if inner, ok := carried(a); ok {
		return addrKind(inner)
	}
	return "public"
}

// carried returns the IPv4 address that an IPv6 address is translated or
// tunnelled to.
func carried(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	b := a.As16()
	four := func(i int, mask byte) (netip.Addr, bool) {
		return netip.AddrFrom4([4]byte{b[i] ^ mask, b[i+1] ^ mask, b[i+2] ^ mask, b[i+3] ^ mask}), true
	}
	switch {
	case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b: // NAT64
		return four(12, 0)
	case [12]byte(b[:12]) == [12]byte{}: // compatible
		return four(12, 0)
	case [12]byte(b[:12]) == [12]byte{8: 0xff, 9: 0xff}: // translated
		return four(12, 0)
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		return four(2, 0)
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0: // Teredo
		return four(12, 0xff)
	}
	return a, false
}

// knownNames are names whose address is no secret; a key that begins with a
// dot stands for every name below.
var knownNames = map[string]string{
	"localhost": "loopback", ".localhost": "loopback", "localhost.localdomain": "loopback", "localhost6": "loopback", "localhost6.localdomain6": "loopback",
	"ip6-localhost": "loopback", "ip6-loopback": "loopback", "localtest.me": "loopback", ".localtest.me": "loopback", "lvh.me": "loopback", ".lvh.me": "loopback",
	"metadata": "metadata", "metadata.google.internal": "metadata", "metadata.goog": "metadata", "instance-data": "metadata", "instance-data.ec2.internal": "metadata",
	"metadata.azure.internal": "metadata", "metadata.tencentyun.com": "metadata",
	".internal": "private", ".local": "private", ".lan": "private", ".home": "private", ".corp": "private", ".intranet": "private", ".home.arpa": "private",
	".private": "private", ".localdomain": "private", ".test": "private",
}

// nameKind is the kind of a host that is no address. A name of one label is
// one of the local network.
func nameKind(host string) string {
	if kind := knownNames[host]; kind != "" {
		return kind
	}
	for _, service := range []string{".nip.io", ".sslip.io", ".xip.io"} {
		if name, ok := strings.CutSuffix(host, service); ok {
			return spelledKind(name)
		}
	}
	for rest := host; ; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			break
		}
		if kind := knownNames[rest[dot:]]; kind != "" {
			return kind
		}
		rest = rest[dot+1:]
	}
	if !strings.Contains(host, ".") {
		return "private"
	}
	return "name"
}

var spelledAddr = lazily(`[0-9]{1,3}([.-][0-9]{1,3}){3}|[0-9a-f]{8}`)

// spelledKind is the kind of the address that a name of a wildcard DNS service
// spells: with dots, dashes or as hexadecimal digits.
func spelledKind(name string) string {
	worst := "name"
	for _, s := range spelledAddr.FindAllString(name, -1) {
		s = strings.ReplaceAll(s, "-", ".")
		if !strings.Contains(s, ".") {
			s = "0x" + s
		}
		if n, ok := browserAton(s); ok {
			kind := addrKind(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}))
			if danger(kind) > danger(worst) {
				worst = kind
			}
		}
	}
	if v6, err := netip.ParseAddr(strings.ReplaceAll(name, "-", ":")); err == nil {
		if kind := addrKind(v6.Unmap()); danger(kind) > danger(worst) {
			worst = kind
		}
	}
	return worst
}
