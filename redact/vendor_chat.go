package redact

import "slices"

// chatFormats are tokens and webhooks of chat, of mail and of telephony.
func chatFormats() []format {
	return slices.Concat(
		// A rotated token is two such prefixes, joined by a dot.
		each(func(p string) format { return glued(atLeast("slack", p, &dotted, 12)) }, "xoxe.xoxb-", "xoxe.xoxp-"),
		each(func(p string) format { return glued(atLeast("slack", p, &dashed, 10)) },
			"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxo-", "xoxc-", "xapp-", "xwfp-"),
		// The value of a browser's cookie, often escaped.
		[]format{glued(atLeast("slack", "xoxd-", &percented, 20))},
		each(func(p string) format { return after(glued(atLeast("slack-webhook", p, &slashed, 30))) },
			"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
		each(func(p string) format {
			return after(glued(sequence("discord-webhook", p, between(&digits, 15, 22), lit("/"), many(&token, 50))))
		},
			"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
		// The key's number has 32 digits of hexadecimal; the prefix takes the first.
		each(func(p string) format { return exactly("twilio", p, &hex, 31) },
			"SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"),
		each(func(p string) format { return glued(sequence("brevo", p, of(&hex, 64), lit("-"), of(&alnum, 16))) },
			"xkeysib-", "xsmtpsib-"),
		each(func(p string) format {
			return sequence("matrix", p, between(&padded64, 1, 200), lit("_"), of(&alnum, 20), lit("_"), of(&alnum, 6))
		},
			"syt_", "syr_"),
		each(func(p string) format { return glued(atLeast("facebook", p, &alnum, 90)) }, "EAACEdEose0cBA"),
		each(func(p string) format { return atLeast("facebook", p, &alnum, 100) }, "EAAM", "EAAC", "EAAG", "EAAB", "IGQV"),
		[]format{
			after(glued(atLeast("teams-webhook", ".webhook.office.com/webhookb2/", &slashed, 100))),
			{kind: "telegram", prefix: ":AA", glued: true, find: findTelegram},
			sequence("sendgrid", "SG.", of(&token, 22), lit("."), of(&token, 43)),
			exactly("mailgun", "key-", &hex, 32),
			sequence("resend", "re_", of(&alnum, 8), lit("_"), many(&alnum, 20)),
			glued(atLeast("mailersend", "mlsn.", &alnum, 40)),
			exactly("klaviyo", "pk_", &hex, 34),
			{kind: "twitter", prefix: "AAAAAAAAAAAAAAAAAAAAA", find: findTwitter, rest: &percented},
			sequence("linkedin", "WPL_AP1.", of(&alnum, 16), lit("."), between(&base64ed, 6, 24)),
			sequence("linkedin", "WPL_AP0.", of(&alnum, 16), lit("."), between(&base64ed, 6, 24)),
		},
	)
}

var (
	slashed   = chars("azAZ09", "_-/@+")
	percented = chars("azAZ09", "_-%+/=.")
	padded64  = chars("azAZ09", "+/=-")
)

// discordBots are a bot's number, a time and a signature in base64. The number
// is decimal, so that its first two digits leave few beginnings.
func discordBots() (out []format) {
	for _, first := range []string{"MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"} {
		for _, second := range "AEIMQUYcgk" {
			out = append(out, sequence("discord", first+string(second),
				between(&token, 20, 27), lit("."), of(&token, 6), lit("."), between(&token, 27, 40)))
		}
	}
	return out
}

// findTelegram finds what follows the colon of a bot's token. The number before
// it is no secret, but must be one.
func findTelegram(s string, start int, final bool) (from, end int, v verdict) {
	const body = 33
	first := start + len(":AA")
	if start == 0 || !digits[s[start-1]] {
		return 0, 0, absent
	}
	end = run(s[:min(len(s), first+body+1)], first, &token)
	switch {
	case end-first > body:
		return 0, 0, absent
	case end == len(s) && !final:
		return start + 1, end, unsettled
	case end-first < body || filler(s[first:end]):
		return 0, 0, absent
	}
	return start + 1, end, present
}

// findTwitter finds a bearer token: 21 letters A, and some hundred characters of
// which a few are escaped. A run without escapes is a picture in base64.
func findTwitter(s string, start int, final bool) (from, end int, v verdict) {
	const least, most = 80, 160
	first := start + 21
	end = run(s[:min(len(s), first+most)], first, &percented)
	escaped := false
	for i := first; i+2 < end && !escaped; i++ {
		escaped = s[i] == '%' && hexAny[s[i+1]] && hexAny[s[i+2]]
	}
	switch {
	case end == len(s) && end-first < most && !final:
		return start, end, unsettled
	case end-first < least || !escaped:
		return 0, 0, absent
	}
	for s[end-1] == '.' {
		end-- // that of a sentence
	}
	return start, end, present
}
