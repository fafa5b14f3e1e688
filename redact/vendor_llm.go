package redact

import "slices"

// llmFormats are keys of model providers and of services built for agents. The
// form sk- and letters, called "openai", is also that of other providers that copy
// its interface.
func llmFormats() []format {
	return slices.Concat(
		each(func(p string) format { return glued(atLeast("anthropic", p, &token, 20)) }, "sk-ant-"),
		each(func(p string) format { return glued(atLeast("openai", p, &token, 20)) },
			"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
		[]format{
			exactly("openrouter", "sk-or-v1-", &hex, 64),
			sequence("langfuse", "sk-lf-", uuid()...),
			atLeast("helicone", "sk-helicone-", &dashed, 24),
			exactly("deepseek", "sk-", &hex, 32),
			atLeast("openai", "sk-", &alnum, 32),
			exactly("elevenlabs", "sk_", &hex, 48),
			apart(atLeast("huggingface", "hf_", &alnum, 30)),
			exactly("huggingface", "api_org_", &letters, 34),
			apart(exactly("replicate", "r8_", &alnum, 37)),
			atLeast("groq", "gsk_", &alnum, 40),
			atLeast("xai", "xai-", &word, 60),
			atLeast("perplexity", "pplx-", &alnum, 40),
			atLeast("cerebras", "csk-", &alnum, 40),
			atLeast("nvidia", "nvapi-", &token, 50),
			atLeast("tavily", "tvly-", &token, 24),
			sequence("langsmith", "lsv2_pt_", of(&hex, 32), lit("_"), of(&hex, 10)),
			sequence("langsmith", "lsv2_sk_", of(&hex, 32), lit("_"), of(&hex, 10)),
			apart(atLeast("fireworks", "fw_", &alnum, 22)),
			atLeast("together", "tgp_v1_", &token, 40),
			exactly("voyage", "pa-", &token, 43),
			sequence("pinecone", "pcsk_", between(&alnum, 5, 6), lit("_"), many(&alnum, 60)),
			atLeast("jina", "jina_", &token, 48),
			exactly("friendli", "flp_", &alnum, 46),
			atLeast("runpod", "rpa_", &alnum, 40),
			atLeast("anyscale", "esecret_", &alnum, 24),
			exactly("firecrawl", "fc-", &hex, 32),
			exactly("e2b", "e2b_", &hex, 40),
			sequence("wandb", "wandb_v1_", of(&alnum, 27), lit("_"), of(&alnum, 49)),
		},
	)
}
