package pve

import "time"

// Impatient returns a host that is asked often, and whose locks count as left behind after the given time.
func Impatient(h Host, patience time.Duration) Host {
	h.interval, h.lockTimeout = 10*time.Millisecond, patience
	return h
}

// Strict returns a host whose tasks count as ones that hang after the given time.
func Strict(h Host, silence time.Duration) Host {
	h.silence = silence
	return h
}

// ReadHostsFile returns a text of /etc/hosts as it is written again.
func ReadHostsFile(text string) string { return parseHostsFile(text).String() }
