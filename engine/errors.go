package engine

import (
	"errors"
	"fmt"
)

// Code is a word clients branch on. The set is closed; new words are added here.
type Code string

// The codes. docs/errors.md says for each what to do.
const (
	InvalidArgument           Code = "INVALID_ARGUMENT"
	SessionNotFound           Code = "SESSION_NOT_FOUND"
	SessionBusy               Code = "SESSION_BUSY"
	PermissionDenied          Code = "PERMISSION_DENIED"
	PermissionRequestNotFound Code = "PERMISSION_REQUEST_NOT_FOUND"
	Timeout                   Code = "TIMEOUT"
	CancelledCode             Code = "CANCELLED"
	Limit                     Code = "LIMIT"
	Internal                  Code = "INTERNAL"
)

// Error is what every method of this package returns to a caller.
type Error struct {
	Code    Code
	Message string // what was refused, by which rule or limit, what would change it
	Err     error  // cause, may be nil
}

// Error returns "Error [CODE]: message".
func (e *Error) Error() string { return fmt.Sprintf("Error [%s]: %s", e.Code, e.Message) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error; a %w cause is kept.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// CodeOf returns the code of err, Internal when it has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
