// Package crashtest holds the test that kills servers for a living: two hundred of
// them on one state folder, at random times under load, by SIGKILL of the server,
// of its guard, or of both.
//
// Whatever a client was told by one server the next one has to tell again. It is a
// package of its own so that it runs beside the other tests of the program, and it
// builds the program as users have it. Start reading at TestCrashLoop.
package crashtest
