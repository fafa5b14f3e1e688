package engine

import (
	"errors"
	"math"
)

// errBudgetSpent ends a turn before it begins: the CLI counts what its process
// costs, so a session's budget over several processes is ours to keep.
var errBudgetSpent = errors.New("start a new session, or fork this one, which begins with totals of its own")

// budgetSubtype is the CLI's word for a turn that met the budget.
const budgetSubtype = "error_max_budget_usd"

// budgetLeft is what a new process may cost, in dollars to the millionth; 0 is no limit.
func (s *Session) budgetLeft() (float64, error) {
	limit := s.params.MaxBudgetUSD
	if limit <= 0 {
		return 0, nil
	}
	s.mu.Lock()
	spent := s.info.TotalCostUSD
	s.mu.Unlock()
	if spent <= 0 {
		return limit, nil // to the last digit, as given
	}
	left := math.Round((limit-spent)*1e6) / 1e6
	if left <= 0 {
		return 0, Errorf(Limit, "the session cost $%g of maxBudgetUsd %g: %w", spent, limit, errBudgetSpent)
	}
	return left, nil
}
