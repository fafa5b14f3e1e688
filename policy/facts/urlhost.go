package facts

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// describeHost returns a host as a browser would ask for it, and its kind.
func describeHost(raw string) (host, kind string) {
	if inner, ok := strings.CutPrefix(raw, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		inner, _, _ = strings.Cut(inner, "%") // a zone is refused by browsers, not by others
		addr, err := netip.ParseAddr(inner)
		if !closed || err != nil {
			return "", "none"
		}
		return addrHost(addr)
	}
	decoded, err := url.PathUnescape(raw)
	if err != nil {
		return "", "none"
	}
	host, ok := asciiHost(decoded)
	host = strings.TrimSuffix(host, ".")
	emptyLabel := host == "" || host[0] == '.' || strings.Contains(host, "..") || strings.HasSuffix(host, ".")
	if !ok || emptyLabel || strings.ContainsFunc(host, forbidden) {
		return "", "none"
	}
	if numeric(host) {
		n, ok := browserAton(host)
		if !ok {
			return "", "none"
		}
		return addrHost(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}))
	}
	return host, nameKind(host)
}

func addrHost(a netip.Addr) (host, kind string) {
	a = a.Unmap().WithZone("")
	return a.String(), addrKind(a)
}

// forbidden are the characters no host may hold.
func forbidden(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`#%/:<>?@[\]^|`, r)
}

// numeric reports that a browser takes the host for an address, because its
// last label is a number.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last != "" && strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(strings.ToLower(last), "0x")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint("0"+hex, 16, 64)
	return err == nil
}

// browserAton reads an address of one to four parts, each decimal, octal or
// hexadecimal; the last fills the bytes the others leave.
func browserAton(host string) (uint64, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return 0, false
	}
	var sum uint64
	for i, part := range parts {
		digits, base := part, 10
		switch {
		case strings.HasPrefix(part, "0x") || strings.HasPrefix(part, "0X"):
			digits, base = "0"+part[2:], 16
		case len(part) > 1 && part[0] == '0':
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 32 - 8*i
		}
		n, err := strconv.ParseUint(digits, base, bits)
		if err != nil {
			return 0, false
		}
		sum = sum<<bits | n
	}
	return sum, true
}
