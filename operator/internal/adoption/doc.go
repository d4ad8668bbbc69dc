// Package adoption records a cluster that runs in a state that does not have it. The engine runs the program as for a first up, in a
// state of its own; between the engine and each provider plugin stands a gateway, which answers the creation of a resource with what
// exists, and passes on everything else. So the engine itself writes the state, and nothing is created or changed (decision 62).
package adoption
