//go:build !linux

package cli_test

func fewFiles() int { return 1 }

func crashing(string) int { return 1 }

func reaper(string) int { return 1 }

func guarding(string) int { return 1 }

func guarded(string) int { return 1 }

func onTerminal() int { return 1 }
