package operator

// The garbage collector of the CLI and its plugins. They work for seconds, and most of what they allocate at their start, the schemas of
// the providers, is in use until they end. By default a heap may grow to twice its live data between two collections. If it may grow to
// five times that, a preview of three nodes takes a sixth less time. In larger clusters the live data is the state, and the engine would
// need 700 MiB for 30 nodes.
const (
	variableCollector = "GOGC"
	relaxedCollector  = "400"
	relaxedNodes      = 10
)

// relaxCollector sets the collector in the environment of the CLI, for a small cluster. A value in the user's own environment, which
// own looks up, takes precedence.
func relaxCollector(env map[string]string, nodes int, own func(string) (string, bool)) {
	if _, found := own(variableCollector); !found && nodes <= relaxedNodes {
		env[variableCollector] = relaxedCollector
	}
}
