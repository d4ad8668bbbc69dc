package engine_test

// processGroup is 0: Windows has none that a process could ask for.
func processGroup() int { return 0 }
