package redact

import "slices"

// paymentFormats are keys of payment, of shops and of shipping.
func paymentFormats() []format {
	return slices.Concat(
		each(func(p string) format { return glued(atLeast("stripe", p, &alnum, 16)) },
			"sk_live_", "rk_live_", "sk_prod_", "rk_prod_", "sk_test_", "rk_test_"),
		[]format{glued(atLeast("stripe-webhook", "whsec_", &base64ed, 24))},
		each(func(p string) format { return glued(atLeast("square", p, &token, 22)) }, "sq0atp-", "sq0csp-"),
		[]format{sequence("square", "EAAA", between(&token, 60, 64))},
		each(func(p string) format { return glued(exactly("shopify", p, &hexAny, 32)) },
			"shpat_", "shpca_", "shppa_", "shpss_", "shptka_"),
		each(func(p string) format { return glued(sequence("plaid", p, uuid()...)) },
			"access-production-", "access-development-", "access-sandbox-"),
		each(func(p string) format { return exactly("razorpay", p, &alnum, 14) }, "rzp_live_", "rzp_test_"),
		each(func(p string) format { return glued(sequence("flutterwave", p, of(&lowers, 32), lit("-X"))) },
			"FLWSECK-", "FLWSECK_TEST-"),
		each(func(p string) format { return exactly("easypost", p, &alnum, 54) }, "EZAK", "EZTK"),
		each(func(p string) format { return glued(exactly("shippo", p, &hexAny, 40)) }, "shippo_live_", "shippo_test_"),
		each(func(p string) format { return glued(exactly("duffel", p, &token, 43)) }, "duffel_live_", "duffel_test_"),
		each(func(p string) format {
			return glued(sequence("paddle", p, of(&lowers, 26), lit("_"), of(&alnum, 22), lit("_"), of(&alnum, 3)))
		},
			"pdl_live_apikey_", "pdl_sdbx_apikey_"),
		[]format{
			sequence("paypal", "access_token$production$", of(&lowers, 16), lit("$"), of(&hex, 32)),
			sequence("paypal", "access_token$sandbox$", of(&lowers, 16), lit("$"), of(&hex, 32)),
		},
	)
}
