package redact

import "slices"

// infraFormats are tokens of hosting, of deployment tools and of secret stores.
func infraFormats() []format {
	return slices.Concat(
		each(func(p string) format { return glued(exactly("digitalocean", p, &hex, 64)) }, "dop_v1_", "doo_v1_", "dor_v1_"),
		each(func(p string) format { return atLeast("vault", p, &token, 24) }, "hvs.", "hvb.", "hvr."),
		each(func(p string) format { return atLeast("doppler", p, &dotted, 40) },
			"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
		each(func(p string) format { return atLeast("fly", p, &padded, 40) }, "fm1r_", "fm1a_", "fm2_", "fo1_"),
		each(func(p string) format { return atLeast("vercel", p, &alnum, 24) }, "vcp_", "vci_", "vca_", "vcr_", "vck_"),
		each(func(p string) format { return glued(atLeast("planetscale", p, &dotted, 32)) },
			"pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
		each(func(p string) format {
			return sequence("harness", p, of(&token, 22), lit("."), of(&alnum, 24), lit("."), of(&alnum, 20))
		},
			"pat.", "sat."),
		each(func(p string) format { return glued(atLeast("dbt", p, &token, 30)) }, "dbtc_", "dbtu_", "dbts_"),
		each(func(p string) format { return exactly("settlemint", p, &alnum, 16) }, "sm_aat_", "sm_pat_", "sm_sat_"),
		[]format{
			sequence("cloudflare", "v1.0-", of(&hex, 24), lit("-"), of(&hex, 146)),
			glued(atLeast("heroku", "HRKU-", &token, 36)),
			glued(atLeast("netlify", "nfp_", &word, 36)),
			glued(exactly("supabase", "sbp_", &hex, 40)),
			glued(atLeast("supabase", "sb_secret_", &token, 20)),
			sequence("databricks", "dapi", of(&hex, 32)),
			// The 14 characters before the mark only name the token.
			glued(atLeast("terraform", ".atlasv1.", &token, 60)),
			exactly("pulumi", "pul-", &hex, 40),
			glued(atLeast("1password", "ops_eyJ", &padded, 100)),
			sequence("1password", "A3-", of(&uppers, 6), lit("-"), of(&uppers, 6), lit("-"), of(&uppers, 5), lit("-"),
				of(&uppers, 5), lit("-"), of(&uppers, 5), lit("-"), of(&uppers, 5)),
			sequence("1password", "A3-", of(&uppers, 6), lit("-"), of(&uppers, 11), lit("-"),
				of(&uppers, 5), lit("-"), of(&uppers, 5), lit("-"), of(&uppers, 5)),
			sequence("infisical", "st.", between(&hexDash, 24, 36), lit("."), of(&hex, 32), lit("."), many(&alnum, 32)),
			glued(atLeast("tailscale", "tskey-", &dashed, 20)),
			glued(exactly("openshift", "sha256~", &token, 43)),
			sequence("defined-networking", "dnkey-", of(&alnum, 26), lit("-"), of(&alnum, 52)),
			exactly("render", "rnd_", &alnum, 32),
			glued(exactly("prefect", "pnu_", &alnum, 36)),
			exactly("prefect", "pnb_", &alnum, 36),
			exactly("scalingo", "tk-us-", &token, 48),
			exactly("infracost", "ico-", &alnum, 32),
			atLeast("deno-deploy", "ddp_", &alnum, 36),
			exactly("octopus", "API-", &uppers, 26),
		},
	)
}
