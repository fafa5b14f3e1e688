package main

import (
	"fmt"
	"log/slog"
	"strings"
)

// logLevelVariable says from which level on a server logs.
const logLevelVariable = "LOG_LEVEL"

// levelCritical is above everything that is logged here.
const levelCritical = slog.LevelError + 4

// logLevels are the words of the variable, in the spelling of Python's logging.
var logLevels = map[string]slog.Level{
	"DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARNING": slog.LevelWarn, "WARN": slog.LevelWarn,
	"ERROR": slog.LevelError, "CRITICAL": levelCritical,
}

// logLevel is that of a server, INFO by default. The warning is for a word that is
// unknown: a server is not kept from starting by how much it should say.
func (e environment) logLevel() (level slog.Level, warning string) {
	value := strings.TrimSpace(e.get(logLevelVariable))
	if value == "" {
		return slog.LevelInfo, ""
	}
	level, known := logLevels[strings.ToUpper(value)]
	if !known {
		warning = fmt.Sprintf("%s %.40q is unknown, want DEBUG, INFO, WARNING, ERROR or CRITICAL; INFO holds", logLevelVariable, value)
	}
	return level, warning
}

// levelName is the word of the variable for a level.
func levelName(level slog.Level) string {
	switch level {
	case slog.LevelWarn:
		return "WARNING"
	case levelCritical:
		return "CRITICAL"
	}
	return level.String()
}
