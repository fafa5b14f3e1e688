package facts

import (
	"strconv"
	"strings"
)

// metadataAddress is the address of the cloud metadata services, 169.254.169.254.
const metadataAddress = 169<<24 | 254<<16 | 169<<8 | 254

var (
	numericHost = lazily(`(?i)(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+)){0,3}`)
	mappedHost  = lazily(`(?i):(ffff:)?(0:)?a9fe:a9fe`)
)

// NamesMetadata reports whether a text holds the address 169.254.169.254 in
// any spelling of inet_aton (decimal, octal, hexadecimal, with one to four
// parts) or mapped into IPv6.
func NamesMetadata(text string) bool {
	for _, host := range numericHost.FindAllString(text, -1) {
		if n, ok := inetAton(host); ok && n == metadataAddress {
			return true
		}
	}
	return mappedHost.MatchString(text)
}

// inetAton reads an address as the C library does: the last part fills the
// bytes the others leave.
func inetAton(host string) (uint64, bool) {
	fields := strings.Split(host, ".")
	var sum uint64
	for i, f := range fields {
		n, err := strconv.ParseUint(f, 0, 64)
		if err != nil {
			return 0, false
		}
		if i < len(fields)-1 {
			sum |= n & 0xff << (24 - 8*i)
			continue
		}
		sum |= n & (1<<(32-8*i) - 1)
	}
	return sum, true
}
