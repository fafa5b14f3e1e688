package engine

// ErrorType says what kind of failure ended a turn, in the words of clients of
// session servers.
type ErrorType string

// The types.
const (
	SessionError       ErrorType = "SessionError"       // of the session, or of a kind not known
	RateLimitError     ErrorType = "RateLimitError"     // Result.RetryAfter says when to try again
	ContextWindowError ErrorType = "ContextWindowError" // the conversation is too long; start a new session
	APIError           ErrorType = "APIError"           // of the model's API
)
