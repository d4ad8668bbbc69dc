// Package artifacts keeps what a run leaves behind to be looked at: the engine's events, how long everything took, the
// inventory as it was understood, and the machine configurations. No secret is ever in it.
package artifacts
