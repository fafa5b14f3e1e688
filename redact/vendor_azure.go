package redact

import "slices"

var (
	azureSecret = chars("azAZ09", "_~.-")
	sasBody     = chars("azAZ09", "%+/-_")
)

// azureFormats are Microsoft's. The newer keys with a mark in their middle
// (JQQJ99, AZDO) are not here: what must be covered stands before the mark.
func azureFormats() []format {
	return slices.Concat(
		// A client secret is three characters, the number of its version, "Q~" and
		// 31 to 34 more. The three stay: a stream could hardly hold back every text.
		each(func(p string) format { return glued(sequence("azure-client-secret", p, between(&azureSecret, 31, 34))) },
			"7Q~", "8Q~", "9Q~"),
		// 64 bytes in base64 for storage and databases, 32 for the buses.
		each(func(p string) format { return after(glued(sequence("azure-key", p, between(&base64ed, 43, 88)))) },
			"AccountKey=", "SharedAccessKey="),
		// The signature is 32 bytes in base64; "=" is escaped or, in flows, left out.
		[]format{after(sequence("azure-sas", "sig=", between(&sasBody, 43, 90)))},
	)
}
