package redact

import (
	"slices"
	"strings"
)

// cloudFormats are keys of Amazon, Google, Alibaba, Tencent and Yandex.
func cloudFormats() []format {
	return slices.Concat(
		each(awsKeyID, "AKIA", "ASIA", "ABIA", "ACCA"),
		// The secret keys that go with them have no form of their own; these are
		// the names they are always stored and printed under.
		each(func(p string) format { return named("aws-secret-key", p, awsSecret) },
			"secret_access_key", "SECRET_ACCESS_KEY", "ecretAccessKey"),
		// Session tokens begin with the base64 of "origin_ec" or of a version and
		// "er/aws"; they are some hundred bytes long.
		each(func(p string) format { return atLeast("aws-session-token", p, &padded, 100) },
			"IQoJb3JpZ2luX2Vj", "FwoGZXIvYXdz", "FQoGZXIvYXdz"),
		[]format{
			atLeast("aws-bedrock", "ABSK", &base64ed, 100),
			// The base64 of the service's address stands first in these.
			atLeast("aws-bedrock", "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", &padded, 20),
			sequence("amazon", "amzn.mws.", uuid()...),
			exactly("amazon", "amzn1.oa2-cs.v1.", &hex, 64),
			after(glued(exactly("presigned-url", "X-Amz-Signature=", &hexAny, 64))),
			after(glued(atLeast("presigned-url", "X-Goog-Signature=", &hexAny, 128))),

			atLeast("google", "AIza", &token, 35),
			atLeast("google-oauth", "ya29.", &dotted, 30),
			glued(atLeast("google-oauth", "GOCSPX-", &token, 24)),
			atLeast("google-oauth", "1//0", &token, 40),
			// The legacy messaging key; what stands before the colon names its sender.
			glued(atLeast("firebase", ":APA91b", &token, 120)),

			sequence("alibaba", "LTAI", between(&alnum, 12, 26)),
			exactly("tencent", "AKID", &alnum, 32),
			sequence("yandex", "AQVN", between(&token, 35, 38)),
			atLeast("yandex", "y0_Ag", &token, 50),
		},
	)
}

// awsKeyID is an access key ID; those of Amazon's documentation end in EXAMPLE.
func awsKeyID(prefix string) format {
	f := exactly("aws", prefix, &base32, 16)
	find := f.find
	f.find = func(s string, start int, final bool) (from, end int, v verdict) {
		from, end, v = find(s, start, final)
		if v == present && strings.HasSuffix(s[from:end], "EXAMPLE") {
			return 0, 0, absent
		}
		return from, end, v
	}
	return f
}

// awsSecret accepts a secret access key: 40 characters of base64.
func awsSecret(value string) bool {
	return len(value) == 40 && run(value, 0, &base64ed) == 40 && !strings.Contains(value, "EXAMPLE") && !filler(value) && !wordlike(value)
}
