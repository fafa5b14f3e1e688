package redact

import (
	"strings"
	"testing"
)

const (
	sha1Hex   = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
	sha256Hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	md5Hex    = "d41d8cd98f00b204e9800998ecf8427e"
	aUUID     = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
	integrity = "sha512-cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
	picture   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

// lookalikes are texts that hold no secret, by what they look like.
var lookalikes = map[string][]string{
	"digests": {
		sha1Hex, sha256Hex, md5Hex, strings.ToUpper(sha256Hex), "commit " + sha1Hex, "sha256:" + sha256Hex,
		"docker.io/library/alpine@sha256:" + sha256Hex, "index 83db48f..bf2a1c9 100644", "ETag: \"" + md5Hex + "\"",
		sha256Hex + "  go1.26.linux-amd64.tar.gz", "MD5 (a.txt) = " + md5Hex, "tree " + sha1Hex + "\nparent " + sha1Hex,
		"https://github.com/o/r/commit/" + sha1Hex, "uses: actions/checkout@" + sha1Hex, "cache-" + md5Hex + ".tar",
		"build_" + sha256Hex[:48], "sk" + md5Hex, "risk-" + md5Hex, "v2.0-" + sha1Hex[:24] + "-x",
	},
	"integrity and lock files": {
		integrity, `"integrity": "sha512-` + picture[:86] + `=="`, "github.com/a/b v1.2.3 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"github.com/a/b v1.2.3/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#" + sha1Hex + "\"", `checksum = "` + sha256Hex + `"`,
		"    --hash=sha256:" + sha256Hex + " \\", "resolution: {integrity: sha512-47DEQpj8HBSaTImW5JCeuQeRkm5NMpJWZG3hSuFU==}",
		`<script integrity="sha384-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU" crossorigin="anonymous">`,
		"npm_config_registry=https://registry.npmjs.org", "npm_package_version=1.0.0", "npm_lifecycle_event",
	},
	"identifiers": {
		aUUID, strings.ToUpper(aUUID), "/subscriptions/" + aUUID + "/resourceGroups/rg", "arn:aws:iam::123456789012:role/Admin",
		"arn:aws:s3:::bucket/key", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:name-AbCdEf", "i-0123456789abcdef0",
		"vpc-0a1b2c3d4e5f67890", "projects/my-project/secrets/name/versions/1", "web-6d4b75cb6d-hx8dp", "kube-system/coredns-5dd5756b68-abcde",
		"C024BE91L", "T024BE7LD", "U012AB3CD", "<@U012AB3CD>", "req_011CSHoEeqs5C35K2UUqR7Fy", "toolu_01A09q90qw90lq917835lq9",
		"msg_01XFDUDYJgAACzvnptvVoYEL", "price_1MoBy5LkdIwHu7ixZhnattbh", "pk_" + "test_51H8", "cus_NffrFeUfNV2Hib", "ch_3MmlLrLkdIwHu7ix0snN0B15",
		"phc_" + strings.Repeat("aB3", 14), "SK" + "12345", "AC" + md5Hex, "client-" + aUUID, "sdk-v2-" + md5Hex, "G-ABCDEF1234", "UA-12345-6", "GTM-ABC123",
		"1234567890:123", "12:34:56:AA:BB:CC", "00:1A:2B:AA:BB:CC:DD", "urn:uuid:" + aUUID, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "V1StGXR8_Z5jdHi6B-myT",
	},
	"pictures and blobs": {
		picture, "data:image/png;base64," + picture, "url(data:font/woff2;base64," + strings.Repeat("d09GMgABAAAAA", 20) + ")",
		strings.Repeat("A", 400), strings.Repeat("AAAAAAAAAAAAAAAAAAAAAAB/", 20), "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
		"PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjwvc3ZnPg==", strings.Repeat("0", 200), strings.Repeat("f", 64),
		"//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=", "eyJhIjoxfQ==", "eyJ2ZXJzaW9uIjozfQ",
	},
	"certificates and public keys": {
		"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUVxJ2rE4Qq7kH\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7\n-----END PUBLIC KEY-----",
		"-----BEGIN CERTIFICATE REQUEST-----\nMIIBszCCAVmgAwIBAgIUVxJ2rE4Qq7kH\n-----END CERTIFICATE REQUEST-----",
		"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEY5YxExYJKwYBBAHaRw8BAQdA\n-----END PGP PUBLIC KEY BLOCK-----",
		"-----BEGIN PGP SIGNATURE-----\n\niHUEABYKAB0WIQTY3vGlNXv3\n-----END PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE me@host",
		"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7" + strings.Repeat("aB3", 40) + " me@host",
		"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "PublicKey = 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU", "xpub" + strings.Repeat("6CUGRUo", 15), "npub1" + strings.Repeat("q7", 29),
		"-----BEGIN PRIVATE" + " KEY-----\n...\n-----END PRIVATE" + " KEY-----", "-----BEGIN RSA PRIVATE" + " KEY-----",
		`if strings.HasPrefix(s, "-----BEGIN PRIVATE` + ` KEY-----") { return true }`, "a -----BEGIN PRIVATE" + " KEY----- and all the rest",
		"grep -l 'BEGIN RSA PRIVATE" + " KEY' *", "-----BEGIN OPENSSH PRIVATE" + " KEY-----\n2025-01-01 12:00:00 INFO server started\n",
	},
	"placeholders": {
		"ghp_" + strings.Repeat("x", 36), "ghp_" + strings.Repeat("X", 36), "ghp_xxxx", "ghp_...", "ghp_<token>", "ghp_YOUR_TOKEN", "glpat-your-access-token-here",
		"glpat-" + strings.Repeat("x", 20), "sk-your-api-key", "sk-ant-...", "sk-ant-your-key-goes-right-here", "sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx",
		"sk-" + strings.Repeat("x", 48), "OPENAI_API_KEY=sk-...", "ANTHROPIC_API_KEY=sk-ant-xxx", "xoxb-your-token", "xoxb-...", "hf_" + strings.Repeat("x", 34),
		"AKIAIOSFODNN7" + "EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
		"aws_secret_access_key = ${SECRET}", "npm_" + strings.Repeat("x", 36), "pypi-AgE...", "AIza...", "AIzaSy" + strings.Repeat("X", 33),
		"Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: Bearer ${TOKEN}", "Authorization: Bearer YOUR_API_KEY", "Authorization: Bearer token",
		"Authorization: Basic <credentials>", "Authorization: Basic dXNlcjpwYXNzd29yZA==", "-H 'X-Api-Key: $KEY'", "X-Api-Key: your-api-key", "X-API-Key: ********************",
		"//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "_authToken=<token>", "[REDACTED:aws]", "[REDACTED:url-password]", "sk_live_...", "sk_test_" + strings.Repeat("x", 24), "whsec_...",
		"dop_v1_" + strings.Repeat("x", 64), "?access_token=ACCESS_TOKEN", "access_token=get_access_token_from_environment(2)", "client_secret=YOUR_CLIENT_SECRET", "refresh_token=", "sig=...",
	},
	"connection strings": {
		"postgres://localhost/db", "postgres://localhost:5432/db", "postgres://app@localhost:5432/db", "postgres://user:password@localhost/db", "postgres://postgres:postgres@localhost:5432/postgres",
		"postgres://user:$PASSWORD@host/db", "postgres://user:${DB_PASSWORD}@host/db", "postgres://user:<password>@host/db", "postgres://user:***@host/db", "postgres://user:xxxxx@host/db",
		"postgres://user:[YOUR-PASSWORD]@host/db", "postgres://{user}:{password}@{host}/db", "postgres://%s:%s@%s/%s", "postgres://user:{{ .Password }}@host/db", "https://user:…@host", "Bearer https://tools.ietf.org/html/rfc6750", "sha256=qaN-fw_htIgKUVXoAuAEVgKxQu3tZ9qE2eiKkWIS7LA", "mysql://root:secret@db/app",
		"mongodb://localhost:27017", "mongodb+srv://cluster0.mongodb.net/?retryWrites=true", "redis://localhost:6379/0", "redis://:password@localhost:6379", "amqp://guest:guest@localhost:5672/",
		"postgres://user:[REDACTED:url-password]@host/db", "https://example.com:8443/@scope/pkg", "http://localhost:4873/@types/node", "https://unpkg.com/react@18.2.0/umd/react.js",
		"https://user@example.com/repo.git", "https://git@github.com/o/r.git", "ssh://git@github.com/o/r.git", "git@github.com:o/r.git", "https://medium.com/@someone/a-title-1234567890ab",
		"https://[::1]:8080/a@b", "http://a:80", "file:///home/me/x@y", "see https://a.example, or mail me@example.com", "Server=db;Database=a;Integrated Security=true;",
		"Server=db;User Id=sa;Password=;", "Server=db;User Id=sa;Password=<password>;", "Server=db;Password={password};", "Server=db;Password=$(Password);", "jdbc:sqlserver://db:1433;databaseName=a",
		"jdbc:postgresql://db:5432/app?sslmode=require", "sqlite:///data/app.db", "unix:///var/run/docker.sock", "s3://bucket/key@1", "docker://alpine:3.20@sha256:" + sha256Hex,
		"http://$USER:$PASS@proxy:3128", "AccountName=a;AccountKey=<key>;", "DefaultEndpointsProtocol=https;AccountName=devstoreaccount1", "SharedAccessKeyName=Root",
	},
	"names and prose": {
		"task-force", "risk-averse-and-very-careful-people-everywhere", ".sk-button { color: red }", `class="sk-circle-fade-dot sk-child sk-bounce1"`, "disk_live_migration_enabled_flag",
		"desk-top", "pat.test(value)", "pattern.compile(x)", "path/to/file", "patch_release", "sat.on", "api-gateway", "API-FIRST-DESIGN-GUIDELINES-FOR-ALL-OF-US", "key-value-store",
		"key-down-handler-for-the-search-field", "hf_hub_download(repo_id)", "fw_update_in_progress_flag_name", "re_match_all(x)", "re_compile_pattern_with_flags", "pa-11y", "pa-system-for-the-whole-building-and-its-garden",
		"pk_columns", "pk_" + "live", "secret_name_of_the_resource", "secret_key_base", "sl.add(x)", "st.write('a')", "dp.pt", "hvs.txt", "cio.read", "LTAI", "AKID", "ATTACHMENT", "ATBBQ", "EAAA", "ASIA-PACIFIC",
		"ASIAN", "ACCADEMIA", "SG.readme", "SGML", "SSWS is a scheme", "oy2 and oy3", "dapi.example.com", "dapibus", "rpa_bot", "flp_file", "napi_create_string_utf8(env, s)", "vault kv get hvb", "ghost_", "ghp_token",
		"npm_token", "xoxo, your friend", "xox-style tokens begin with xoxb-", "eyJ is how a token begins", "eyJ.not.a.jwt", "a JSON web token (eyJhbGciOi...) has three parts", "bearer of bad news", "Bearer authentication is used",
		"bearer token based authentication", "Basic authentication", "Basic understanding of authorization", "authorization: required", "Authorization header is missing", "AuthorizationPolicy", "authorization=true", "func Authorization(next http.Handler)",
		"the access_token=value pair", "-us1", "telegram:AAA", "1.2.3-beta.4+build.5", "v1.0-rc1", "v1.0-0.20240101000000-" + sha1Hex[:12], "FLWSECK", "MTA-STS", "NTLM", "NDA.signed.yesterday", "ODT", "MTU", "OTA.update.service",
	},
	"the forms themselves": {
		`ghp_[A-Za-z0-9]{36}`, `\b(AKIA|ASIA)[A-Z2-7]{16}\b`, `sk-ant-api03-[\w-]{93}AA`, `xox[baprs]-[0-9A-Za-z-]{10,}`, `AIza[0-9A-Za-z_-]{35}`, `-----BEGIN [A-Z ]*PRIVATE` + ` KEY-----`,
		`-----BEGIN(?: [A-Z]+)? PRIVATE` + ` KEY-----[\s\S]+?-----END`, `eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`, `[a-z]+://[^:]+:[^@]+@`, `(?i)authorization:\s*bearer\s+\S+`, `glpat-[\w-]{20}`, `[0-9]{8,10}:AA[\w-]{33}`,
		`npm_[A-Za-z0-9]{36}`, `SG\.[\w-]{22}\.[\w-]{43}`, `hooks\.slack\.com/services/T\w+/B\w+/\w+`, `Bearer [A-Za-z0-9._-]{20,}`, `postgres(ql)?://\S+:\S+@`, `AccountKey=[A-Za-z0-9+/]{86}==`,
	},
	"code": {
		"const token = process.env.GITHUB_TOKEN", `os.Getenv("ANTHROPIC_API_KEY")`, `!function(e,t){"object"==typeof exports?module.exports=t():e.x=t()}(this,function(){return 1});`,
		"for(var n=0,r=e.length;n<r;n++)t[e[n]]=e[n];return t", "x.password = y.Password; z.Pwd = w", `headers["Authorization"] = "Bearer " + token`, "headers: { Authorization: `Bearer ${token}` }",
		`req.Header.Set("Authorization", "Bearer "+token)`, `req.Header.Set("X-Api-Key", key)`, `curl -H "Authorization: Bearer $TOKEN" https://example.com`, `auth := "Basic " + base64.StdEncoding.EncodeToString(b)`,
		"aws_secret_access_key = var.aws_secret_access_key_for_the_backup_user", "SecretAccessKey: cfg.Credentials.SecretAccessKey,", "access_token: z.string().min(10)", "git clone https://$GITHUB_TOKEN@github.com/o/r.git",
		"git clone https://x-access-token:${{ secrets.GITHUB_TOKEN }}@github.com/o/r.git", "PrivateKey = <key>", "PrivateKey=/etc/wireguard/key", "ssh -i ~/.ssh/id_ed25519 me@host", "scp a@b:/c d",
	},
}

func TestLookalikesStay(t *testing.T) {
	n := 0
	for name, texts := range lookalikes {
		t.Run(name, func(t *testing.T) {
			for _, text := range texts {
				for _, s := range []string{text, "a " + text + " b", `{"k":"` + text + `"}`} {
					if got, hits := (Scanner{}).String(s); got != s || hits != nil {
						t.Errorf("%q became %q with %v", s, got, hits)
					}
				}
			}
		})
		n += len(texts)
	}
	if n < 150 {
		t.Errorf("%d look-alikes, want 150 at least", n)
	}
}

// A text of beginnings of secrets takes time in proportion to its length: what
// a finder reads in vain is bounded.
func BenchmarkBeginnings64KiB(b *testing.B) {
	for name, unit := range map[string]string{
		"jwt": "eyJ", "dashed jwt": "-eyJabcdefghij", "dotted jwt": "eyJabcdefghijk.b.", "pem": "-----BEGIN ", "key": "-----BEGIN RSA PRIVATE" + " KEY-----",
		"keys": "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEowIBAAKCAQEA\n", "words": "sk-ant-", "url": "https://a:", "userinfo": "a://", "header": "authorization: ",
		"header name": "authorization", "bearer": "Bearer a", "encoded": "LS0tLS1CRUdJTi", "slack": "xoxb-", "twitter": "AAAAAAAAAAAAAAAAAAAAA-", "sql": "sqlserver://", "names": "X-Api-Key=",
	} {
		text := strings.Repeat(unit, 64<<10/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Scanner{}.String(text)
			}
		})
	}
}
