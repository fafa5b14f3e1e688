package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// configureTool is there with Options.Configure only.
const configureTool = "claude_code_configure"

func (s *server) claudeCodeConfigure() tool {
	// Destructive, so that no client that approves harmless tools by itself enables
	// the bypass.
	yes, no := true, false
	return tool{
		name:  configureTool,
		title: "Enable or disable the mode bypassPermissions",
		description: "enable_bypass: for a while, sessions started with permissionMode bypassPermissions are not asked; denials stay. " +
			"disable_bypass: they ask again at once. get_config: how it stands.",
		annotations: mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no},
		run:         s.configure,
	}
}

// configAnswer is what claude_code_configure returns.
type configAnswer struct {
	AllowBypass bool       `json:"allowBypass"`
	Message     string     `json:"message"`
	ExpiresAt   *time.Time `json:"expiresAt,omitempty"` // with AllowBypass
}

// configureError tells besides how it stands.
type configureError struct {
	error
	bypass engine.Bypass
}

func (e configureError) Unwrap() error { return e.error }

func (s *server) configure(ctx context.Context, c call) (any, error) {
	action := c.action("enable_bypass", "disable_bypass", "get_config")
	if c.err != nil {
		return nil, c.err
	}
	b, err := s.engine.Configure(ctx, action)
	if err != nil {
		return nil, configureError{err, b}
	}
	return configAnswerOf(b), nil
}

func configAnswerOf(b engine.Bypass) configAnswer {
	if !b.Enabled {
		return configAnswer{Message: "bypassPermissions is not enabled: sessions are asked as their policies say."}
	}
	return configAnswer{
		AllowBypass: true, ExpiresAt: &b.Until,
		Message: "bypassPermissions is enabled until " + b.Until.Format(time.RFC3339) +
			": what policies only ask about runs in sessions of that mode. Denials stay, and so do questions to a certain person, of the organisation, of plugins and of the model.",
	}
}

// asConfig adds to a failure what clients of the tool look at.
func (b *failureBody) asConfig(err error) {
	var stands bool
	if e, ok := errors.AsType[configureError](err); ok {
		stands = e.bypass.Enabled
	}
	b.AllowBypass, b.Message = &stands, b.Error
}
