package policy

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// query asks for one set of one layer. It does what a prepared query of package
// rego does, without what that does for each evaluation: a goroutine that waits
// for the context, a transaction, and caches made anew.
type query struct {
	compiler *ast.Compiler
	prepared ast.QueryCompiler
	body     ast.Body // answer = set
	data     *layerData
	fixed    map[string]*ast.Term // rules of the set's package that are one written-out value, by name
	prefix   ast.Ref              // of that package
}

// answer is the variable that takes the set.
const answer = ast.Var("answer")

// layerData is data.cfg of one layer. Nothing ever writes to it, so one
// transaction reads for all evaluations.
type layerData struct {
	store storage.Store
	txn   storage.Transaction
	cfg   ast.Value
}

func newLayerData(ctx context.Context, cfg map[string]any) (*layerData, error) {
	d := &layerData{store: inmem.NewFromObject(map[string]any{"cfg": cfg})}
	var err error
	if d.cfg, err = ast.InterfaceToValue(cfg); err == nil {
		d.txn, err = d.store.NewTransaction(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("data of the policies: %w", err)
	}
	return d, nil
}

// Get makes layerData the cache of what evaluations read: data.cfg is at hand,
// and what it does not hold is not in the store either.
func (d *layerData) Get(ref ast.Ref) ast.Value {
	if len(ref) < 2 || !ref[0].Equal(ast.DefaultRootDocument) || !ref[1].Equal(cfgTerm) {
		return nil
	}
	v, err := d.cfg.Find(ref[2:])
	if err != nil {
		return nil
	}
	return v
}

// Put does nothing: see Get.
func (d *layerData) Put(ast.Ref, ast.Value) {}

var cfgTerm = ast.StringTerm("cfg")

// newQuery prepares the query of one set.
func newQuery(c *ast.Compiler, data *layerData, set ast.Ref) (*query, error) {
	q := &query{compiler: c, prepared: c.QueryCompiler(), data: data}
	body, err := q.prepared.Compile(ast.NewBody(ast.Equality.Expr(ast.NewTerm(answer), ast.NewTerm(set))))
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", set, readable(err))
	}
	q.body, q.prefix = body, set[:len(set)-1]
	q.fixed = fixedRules(c, q.prefix)
	return q, nil
}

// evaluation is what one evaluation needs; they are used again.
type evaluation struct {
	cache ruleCache
	done  <-chan struct{}
	base  ast.Term
}

var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// Cancelled makes an evaluation the end of itself: it ends with its context.
func (e *evaluation) Cancelled() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// Cancel is never called: the context is what ends an evaluation.
func (e *evaluation) Cancel() {}

// noMetadata is what requests bring along for functions of other programs.
var noMetadata = map[string]any{}

// set evaluates the query and converts the set, within the bounds of results.
// It is nil when the set is undefined.
func (q *query) set(ctx context.Context, input ast.Value) (any, error) {
	e := evaluations.Get().(*evaluation)
	e.done = ctx.Done()
	e.base.Value = input
	e.cache.begin(q)
	var value any
	run := topdown.NewQuery(q.body).WithQueryCompiler(q.prepared).WithCompiler(q.compiler).
		WithStore(q.data.store).WithTransaction(q.data.txn).WithBaseCache(q.data).WithVirtualCache(&e.cache).
		WithInput(&e.base).WithCancel(e).WithMetrics(metrics.NoOp()).WithSeed(rand.Reader).WithTime(time.Now()).
		WithInterQueryBuiltinValueCache(patterns).WithStrictBuiltinErrors(true).WithRequestMetadata(noMetadata)
	err := run.Iter(ctx, func(found topdown.QueryResult) (err error) {
		c := &converter{ctx: ctx}
		value, err = c.plain(found[answer].Value, 0)
		return err
	})
	// Not deferred: what a panic left is not used again.
	e.cache.end()
	e.done, e.base.Value = nil, nil
	evaluations.Put(e)
	if err != nil {
		return nil, err
	}
	return value, nil
}
