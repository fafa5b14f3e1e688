package redact

import "slices"

// workFormats are tokens of tools for planning, design, writing, selling and identity.
func workFormats() []format {
	return slices.Concat(
		each(func(p string) format { return sequence("hubspot", p, uuid()...) }, "pat-na1-", "pat-na2-", "pat-na3-", "pat-eu1-", "pat-ap1-"),
		each(func(p string) format { return glued(atLeast("figma", p, &token, 36)) }, "figd_", "figo_", "figu_", "figor_"),
		each(func(p string) format { return sequence("onfido", p, between(&token, 8, 16), lit("."), of(&token, 32)) },
			"api_live.", "api_live_us.", "api_live_ca.", "api_sandbox.", "api_sandbox_us.", "api_sandbox_ca."),
		each(func(p string) format { return glued(sequence("persona", p, uuid()...)) }, "persona_production_", "persona_sandbox_"),
		each(func(p string) format {
			return sequence("clickup", p, between(&digits, 6, 12), lit("_"), of(&uppers, 32))
		}, "pk_"),
		[]format{
			glued(exactly("linear", "lin_api_", &alnum, 40)),
			glued(exactly("linear", "lin_oauth_", &hex, 64)),
			atLeast("notion", "ntn_", &alnum, 43),
			exactly("notion", "secret_", &alnum, 43),
			sequence("airtable", "pat", of(&alnum, 14), lit("."), of(&hex, 64)),
			exactly("trello", "ATTA", &hex, 72),
			atLeast("typeform", "tfp_", &dotted, 40),
			glued(exactly("contentful", "CFPAT-", &token, 43)),
			sequence("postman", "PMAK-", of(&hex, 24), lit("-"), of(&hex, 34)),
			exactly("postman", "PMAT-", &uppers, 26),
			exactly("readme", "rdme_", &lowers, 70),
			glued(exactly("frameio", "fio-u-", &token, 64)),
			after(sequence("okta", "SSWS ", of(&token, 42))),
			// A session's number begins with that of its organization, which stays.
			glued(atLeast("salesforce", "!AQ", &dotted, 80)),
			// The base64 of "tok:".
			sequence("intercom", "dG9rO", between(&padded, 50, 60)),
			sequence("mapbox", "sk.eyJ", between(&token, 40, 300), lit("."), of(&token, 22)),
			exactly("adobe", "p8e-", &alnum, 32),
			atLeast("dropbox", "sl.", &token, 120),
			sequence("dropbox", "sl.u.", many(&token, 120)),
			sequence("wakatime", "waka_", uuid()...),
			// RFC 8959 reserves the scheme for this.
			atLeast("secret-token", "secret-token:", &percented, 16),
		},
	)
}

// databaseFormats are keys of hosted databases.
func databaseFormats() []format {
	return []format{
		glued(atLeast("aiven", "AVNS_", &token, 16)),
		glued(atLeast("mongodb-atlas", "mdb_sa_sk_", &token, 36)),
		glued(sequence("cockroachdb", "CCDB1_", of(&alnum, 22), lit("_"), of(&alnum, 40))),
		exactly("neon", "napi_", &lowers, 64),
		atLeast("elastic", "essu_", &padded, 60),
		exactly("clickhouse", "4b1d", &alnum, 38),
	}
}
