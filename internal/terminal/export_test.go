package terminal

// Wanted reports whether colours are written.
func Wanted(c ColorChoice, onTerminal bool, getenv func(string) string) bool {
	return c.wanted(onTerminal, getenv)
}
