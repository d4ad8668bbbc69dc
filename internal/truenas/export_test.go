package truenas

import "time"

// Hurried returns a session that tries a login again after the given time.
func Hurried(connection Connection, pause time.Duration) *Session {
	s := NewSession(connection)
	s.loginPause = pause
	return s
}
