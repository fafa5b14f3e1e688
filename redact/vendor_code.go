package redact

import "slices"

// codeFormats are tokens of code hosting, of builds and of code analysis.
func codeFormats() []format {
	return slices.Concat(
		each(func(p string) format { return glued(atLeast("github", p, &alnum, 36)) },
			"ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		[]format{glued(atLeast("github", "github_pat_", &word, 40))},
		// A routable token goes on with a dot and a checksum.
		each(func(p string) format { return glued(atLeast("gitlab", p, &dotted, 20)) },
			"glpat-", "gldt-", "glrt-", "glft-", "glffct-", "glimt-", "glagent-", "glsoat-", "gloas-", "glcbt-", "glptt-", "glrtr-", "GR1348941"),
		each(func(p string) format { return glued(atLeast("atlassian", p, &padded, 60)) }, "ATATT3xFf", "ATCTT3xFf"),
		each(func(p string) format {
			return glued(sequence("circleci", p, of(&alnum, 22), lit("_"), of(&hexAny, 40)))
		},
			"CCIPAT_", "CCIPRJ_"),
		each(func(p string) format { return glued(exactly("sonarqube", p, &hexAny, 40)) }, "squ_", "sqp_", "sqa_"),
		each(func(p string) format { return glued(atLeast("snyk", p, &dotted, 24)) }, "snyk_uat.", "snyk_sat."),
		[]format{
			exactly("bitbucket", "ATBB", &alnum, 32),
			atLeast("bitbucket", "BBDC-", &padded, 40),
			exactly("buildkite", "bkua_", &lowers, 40),
			exactly("sourcegraph", "sgp_", &hexAny, 40),
			sequence("sourcegraph", "sgp_local_", of(&hexAny, 40)),
			sequence("sourcegraph", "sgp_", of(&hexAny, 16), lit("_"), of(&hexAny, 40)),
			exactly("segment", "sgp_", &alnum, 64),
			exactly("sourcegraph", "slk_", &hex, 64),
			glued(atLeast("socket", "sktsec_", &token, 20)),
		},
	)
}

// registryFormats are tokens with which packages are published.
func registryFormats() []format {
	return slices.Concat(
		// A macaroon: the place it is for comes first, in base64.
		each(func(p string) format { return glued(atLeast("pypi", p, &token, 50)) }, "pypi-AgE"),
		each(func(p string) format { return glued(exactly("packagist", p, &hex, 68)) },
			"packagist_ort_", "packagist_out_", "packagist_uut_"),
		each(func(p string) format {
			return named("registry-password", p, func(v string) bool { return len(v) >= 8 && !filler(v) && !standIn("", v) })
		},
			"_authToken", ":_password"),
		[]format{
			glued(atLeast("npm", "npm_", &alnum, 36)),
			glued(exactly("rubygems", "rubygems_", &hex, 48)),
			exactly("crates-io", "cio", &alnum, 32),
			exactly("nuget", "oy2", &lowers, 43),
			glued(atLeast("docker", "dckr_pat_", &token, 27)),
			glued(atLeast("docker", "dckr_oat_", &token, 27)),
			exactly("artifactory", "AKCp", &alnum, 69),
			// The base64 of "reftkn".
			sequence("artifactory", "cmVmdGtu", many(&alnum, 56)),
			glued(exactly("clojars", "CLOJARS_", &hex, 60)),
		},
	)
}
