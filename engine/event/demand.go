package event

import "context"

type demandKey struct{}

// WithDemand names plugins that have to see what is redacted under ctx: a
// [Redactor] that runs plugins errs where one of them is none of its own, or gave
// no answer, whatever is to be done with failures otherwise.
func WithDemand(ctx context.Context, plugins ...string) context.Context {
	if len(plugins) == 0 {
		return ctx
	}
	return context.WithValue(ctx, demandKey{}, plugins)
}

// Demanded are the plugins that [WithDemand] named; not to be changed.
func Demanded(ctx context.Context) []string {
	names, _ := ctx.Value(demandKey{}).([]string)
	return names
}
