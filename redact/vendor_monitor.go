package redact

import "slices"

// monitorFormats are keys of logs, metrics, errors, feature flags and analytics.
// Keys that are meant for browsers (phc_, NRJS-) are public and not here.
func monitorFormats() []format {
	return slices.Concat(
		each(func(p string) format { return glued(exactly("honeycomb", p, &alnum, 58)) }, "hcaik_", "hcbik_", "hcxik_", "hcamk_"),
		each(func(p string) format {
			return glued(sequence("dynatrace", p, of(&alnum, 24), lit("."), of(&alnum, 64)))
		},
			"dt0c01.", "dt0s01.", "dt0s02.", "dt0s03.", "dt0s04.", "dt0s06.", "dt0s08.", "dt0s09.", "dt0s16."),
		each(func(p string) format { return sequence("axiom", p, uuid()...) }, "xaat-", "xapt-", "xait-"),
		[]format{
			exactly("newrelic", "NRAK-", &uppers, 27),
			exactly("newrelic", "NRII-", &token, 32),
			exactly("newrelic", "NRRA-", &hex, 42),
			glued(sequence("grafana", "glsa_", of(&alnum, 32), lit("_"), of(&hexAny, 8))),
			glued(atLeast("grafana", "glc_eyJ", &base64ed, 32)),
			// An old key is the base64 of {"k":".
			atLeast("grafana", "eyJrIjoi", &base64ed, 70),
			sequence("sentry", "sntrys_eyJ", between(&base64ed, 40, 400), lit("_"), many(&base64ed, 40)),
			glued(exactly("sentry", "sntryu_", &hex, 64)),
			glued(atLeast("posthog", "phx_", &alnum, 40)),
			sequence("launchdarkly", "sdk-", uuid()...),
			glued(exactly("rootly", "rootly_", &hex, 64)),
		},
	)
}
